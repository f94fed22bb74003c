"""What Kueue does: admission cycle, controllers, job integrations, admission checks, webhooks.

May import: `runtime`, `client`, `api`, `core`, `clock`; never `cluster`, `jobset` or `web`.
Start with: `scheduler.py` (the shell round the core), then `translate.py` (the bridge between API
objects and the core's values) and `decided.py` (what a decision writes).
"""
