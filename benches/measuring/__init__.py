"""The rows of the performance table, each a module that measures and a function that judges what was measured.

`bench` holds what rows have in common, `server` our server as a row uses it, `disk` what the disk can do by itself, `restart` and
`postgresql_restart` what a crash costs, `peers_rows` the comparison of `benches/peers`, `draw` the chart.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
