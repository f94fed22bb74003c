"""allaboard queues batch jobs on Kubernetes and starts them all-or-nothing.

The rooms, from the ground up: `clock`, `core` and `api`, `client`, `runtime`, then `cluster`,
`queueing`, `jobset` and `web` side by side, `sim` over them, `cli` on top. Imports point down
only. Start with ARCHITECTURE.md, then the docstring of the room you need.
"""

__version__ = "0.1.0"
