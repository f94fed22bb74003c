"""Starts it: one file per command group; the composition root.

May import: everything. Heavy imports happen inside commands, so that `--help` stays fast.
Start with: `main.py`.
"""

from allaboard.cli.main import main

__all__ = ["main"]
