"""Admission: what may change or refuse a write after it was understood and before it is stored.

May import the store, resources, schemas and kinds of this cluster, `client`, `api` and the clock;
never the server. Start with `chain.py`, the order of things and the interface of a plugin.
"""
