"""What `kubectl get` shows of each kind: the cells of a Table.

Start with `basic.py`; the other files follow the groups of kinds.
"""
