"""Where objects live: records by key, one total order of changes, watches, and the log on disk.

Start with: `store.py`.
"""
