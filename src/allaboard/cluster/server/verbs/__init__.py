"""What each verb does: create, update, patch, delete, list, watch, and the subresources.

May import everything the server may. Start with `writes.py`: the way of an object into the store.
"""
