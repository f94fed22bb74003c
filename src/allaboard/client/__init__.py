"""Speaks to an API server: typed verbs, watch, patch; HTTP transport, kubeconfig.

May import: `api`, `clock`.
Start with: `client.py` (the verbs), then `transport.py` (the seam that HTTP and in-process share).
"""
