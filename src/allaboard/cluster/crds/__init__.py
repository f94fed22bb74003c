"""Custom resources: from a CustomResourceDefinition to a served kind.

Start with: `definitions.py`.
"""
