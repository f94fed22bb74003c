"""Custom resources: from a CustomResourceDefinition to a served kind.

May import the store, resources, schemas, kinds and admission's webhook client; never the server.
Start with `definitions.py`, which turns one definition into a `Resource`; `registry.py` keeps the
set of served ones.
"""
