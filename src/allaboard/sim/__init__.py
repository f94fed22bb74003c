"""Runs all of it in virtual time: loop, worlds, scripts, traces.

May import: every room but `cli`; nothing imports `sim` except `cli`.
Start with: `loop.py` (time that jumps), then `world.py` (a cluster inside it).
"""
