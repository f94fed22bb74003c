"""A request's way from bytes to store and back: routing, negotiation, verbs, watch, discovery.

Start with: `api.py` (one entry for HTTP and in-process callers), then `writes.py` and `reads.py`.
"""
