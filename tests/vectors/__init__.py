"""Recorded conversations with a real Kubernetes, replayed against ours.

The recordings are not part of the repository; they lie beside it (`../shared/vectors/`).
"""

from pathlib import Path

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "vectors" / "kube-apiserver-1.36"
