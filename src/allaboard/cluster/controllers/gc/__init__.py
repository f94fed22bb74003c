"""Deletes what its owners left behind, in the background, in the foreground, or not at all.

May import: `runtime`, `client`, `api`, `clock`; it also reads the store, because it has to know
every kind of object. `judgement.py` decides on data alone; `collector.py` carries it out.
Start with: `judgement.py`.
"""
