"""What Kueue does: admission cycle, controllers, job integrations, admission checks, webhooks.

May import: `runtime`, `client`, `api`, `core`, `clock`; never `cluster`, `jobset` or `web`.
Start with: nothing yet; this room is built next.
"""
