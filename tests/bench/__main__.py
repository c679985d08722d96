"""Run every benchmark of this folder: `python tests/bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("bench_*.py")):
    subprocess.run([sys.executable, str(path)], check=True)
