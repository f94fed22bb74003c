"""Simulated nodes: pods move through stages given as data, through the public API alone.

Start with: `stages.py`.
"""
