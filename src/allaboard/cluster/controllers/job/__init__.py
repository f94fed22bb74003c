"""Runs Jobs to completion: which pods to make, which to remove, what the status says.

May import: `runtime`, `client`, `api`, `clock`. `sync.py` decides on data alone; `reconciler.py`
carries the decision out.
Start with: `sync.py` (the decision), then `plan.py` (what a decision is made of).
"""
