"""Decides who runs: quota, flavors, topology, order, preemption, fallback, backoff. Pure.

May import: NumPy (in `topology` alone) and nothing else of ours; no clock, chance, I/O or logging.
Start with: `values.py` (its words), then `quota.py` (how much may a queue still take).
"""
