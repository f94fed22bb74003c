"""What is served, published as OpenAPI 2 and 3 documents. Pure.

Start with: `publication.py`.
"""
