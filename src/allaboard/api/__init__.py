"""Names things as Kubernetes does: types, codec, quantities, selectors, times, errors.

May import: `clock`. Knows no network and no store; everything here is a value or a pure function.
Start with: `meta.py` (what every object has), `errors.py` (how refusals look), `quantity.py`.
"""
