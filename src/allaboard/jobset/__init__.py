"""What JobSet does: one controller, its policies, the start barrier.

May import: `runtime`, `client`, `api`, `core`, `clock`; never `cluster`, `queueing` or `web`.
Start with: nothing yet; this room is built after queueing.
"""
