"""What is special about each built-in kind: defaults, validation, lifecycle rules, columns. Pure.

Start with: `registry.py` (all kinds served), then the file named after the kind.
"""
