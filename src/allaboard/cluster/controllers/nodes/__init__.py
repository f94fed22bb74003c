"""Watches over nodes: taints by condition, silence, eviction, pods whose node is gone.

May import: `runtime`, `client`, `api`, `clock`. Nothing here polls: a node costs work when it
changes, and one periodic timer per grace period if it keeps a Lease.
Start with: `health.py` (what a node's state means, pure).
"""
