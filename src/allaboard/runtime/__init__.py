"""Keeps controllers turning: informers, work queue, reconcile loop, leader, events, metrics.

May import: `client`, `api`, `clock`.
Start with: `controller.py` (three outcomes only: done, again after, failed), then `informer.py`.
"""
