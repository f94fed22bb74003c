"""How do types become CustomResourceDefinitions, in both versions?

May import the types only. Start with `rules.py` for the notation, then `schema.py`, which reads
it, and `definitions.py`, which says what each kind serves.
"""
