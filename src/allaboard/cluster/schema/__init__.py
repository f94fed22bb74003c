"""What shape objects have: schemas of built-in kinds, strict decoding, pruning.

    notation/*.txt → notation.py → builtin.py        the schemas
    envelope.py → decode.py → clean.py or strict.py  what a client sent, as an object
    publication.py → operations.py, definitions.py   what clients may read about it

May import `api` and `cluster/resource.py`. Start with: `node.py` (one schema), then `builtin.py`
(the kinds' schemas), then `decode.py`.
"""
