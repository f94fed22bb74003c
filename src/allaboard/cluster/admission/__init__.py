"""Who may change or refuse a write before it is stored: built-in plugins and webhooks, in order.

Start with: `chain.py`.
"""
