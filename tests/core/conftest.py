"""Tests of the core share a small shell, `desk.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
