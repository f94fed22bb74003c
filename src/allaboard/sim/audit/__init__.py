"""Audits the committed log: recomputes from objects alone what must have held.

May import: plain readers of `api` (quantities, times); nothing of `core`, `queueing` or `jobset`,
so that a mistake there cannot excuse itself here.
Start with: `rules.py` (what must hold at every commit), then `tree.py` (its own quota arithmetic).
"""
