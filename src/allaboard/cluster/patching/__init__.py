"""How a patch changes an object: JSON, merge and strategic patch, apply and field ownership. Pure.

Start with: `apply.py`.
"""
