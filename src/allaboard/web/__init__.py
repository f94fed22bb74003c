"""Shows it: the dashboard, read-only.

May import: `runtime`, `client`, `api`, `clock`; never `cluster`, `queueing` or `jobset`.
Start with: nothing yet; this room is built last.
"""
