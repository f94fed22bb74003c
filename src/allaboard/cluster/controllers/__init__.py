"""The controllers a Kubernetes has: Jobs, garbage collection, namespaces, nodes, Services, TTLs.

They are ordinary clients of the API; those that must know every kind of object also read the store
(`feed.py`). What is to be done is decided by pure functions, each with a thin shell around it.
Start with: `install.py`, then `job/sync.py`.
"""
