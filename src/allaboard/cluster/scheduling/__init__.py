"""Which node for which pod: the pure decision, and the loop that binds.

Start with: `decide.py`.
"""
