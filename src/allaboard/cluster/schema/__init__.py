"""What shape objects have: schemas of built-in kinds, strict decoding, pruning, OpenAPI.

Start with: `node.py` (one schema), then `builtin.py` (the kinds' schemas).
"""
