"""Answers the Kubernetes API: routing, authentication, negotiation, verbs, watch, discovery, HTTP.

May import the store, schema, patching, kinds, crds and admission. Start with `api.py`: one request
in, one answer or one stream of events out; `http.py` only puts it on the wire.
"""
