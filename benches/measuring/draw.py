"""The chart of how cost grows with size, as SVG written by hand: small multiples on logarithmic axes, light and dark.

A cost that does not depend on the size is a level line. Both axes of a panel span whole powers of ten, at least two of the
cost's, so that noise does not look like growth.
"""

import math
from html import escape

from .restart import SHIPPED, WHOLE

WIDTH, PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 940, 300, 240, 3
LEFT, TOP, RIGHT, BOTTOM = 52, 44, 14, 42
HEAD = 52
# Title, size, cost, and the series with what they are called.
PANELS = [
    ("A commit, by clients", "clients", "us per commit", [("commit us by clients", "")]),
    ("A row of INSERT ... SELECT, by table size", "rows", "ns per row", [("row ns by rows", "")]),
    ("Kill to first query, by VLFs", "VLFs", "ms", [("first query ms by VLFs", "")]),
    (
        "Kill to first query, by active log",
        "MB of log",
        "s",
        [(f"first query s by log MB, {SHIPPED}", SHIPPED), (f"first query s by log MB, {WHOLE}", WHOLE)],
    ),
    (
        "Kill to the end of recovery, by active log",
        "MB of log",
        "s",
        [(f"recovered s by log MB, {SHIPPED}", SHIPPED), (f"recovered s by log MB, {WHOLE}", WHOLE)],
    ),
    ("Log backup, by its log", "MB of log", "s", [("log backup s by log MB", "")]),
]
STYLE = """
  .ground { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } text { font: 11px system-ui, sans-serif }
  .title { font-size: 12.5px; font-weight: 600 } .head { font-size: 16px; font-weight: 600 }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .line { fill: none; stroke-width: 2 } .dot { stroke: #ffffff; stroke-width: 1.5 }
  .a { stroke: #0969da } .b { stroke: #bc4c00 } .dot.a { fill: #0969da; stroke: #ffffff } .dot.b { fill: #bc4c00; stroke: #ffffff }
  .name.a { fill: #0969da; stroke: none } .name.b { fill: #bc4c00; stroke: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .ink { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
    .a { stroke: #4493f8 } .b { stroke: #f0883e } .dot.a { fill: #4493f8; stroke: #0d1117 } .dot.b { fill: #f0883e; stroke: #0d1117 }
    .name.a { fill: #4493f8 } .name.b { fill: #f0883e }
  }
"""


def decades(values, least):
    """The powers of ten that hold all values, at least so many decades."""
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    high = max(high, low + 1)
    while high - low < least:
        # Room where the values are closer to the edge.
        if math.log10(min(values)) - low < high - math.log10(max(values)):
            low -= 1
        else:
            high += 1
    return low, high


def power(exponent):
    """A power of ten as people write it."""
    value = 10.0**exponent
    if value >= 1e5:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def short(value):
    """A value beside its point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Axes:
    """Where sizes and costs lie in a panel."""

    def __init__(self, points):
        self.sizes = decades([size for size, _ in points], 1)
        self.costs = decades([cost for _, cost in points], 2)

    def x(self, size):
        low, high = self.sizes
        return LEFT + (math.log10(size) - low) / (high - low) * (PANEL_WIDTH - LEFT - RIGHT)

    def y(self, cost):
        low, high = self.costs
        return PANEL_HEIGHT - BOTTOM - (math.log10(cost) - low) / (high - low) * (PANEL_HEIGHT - TOP - BOTTOM)

    def grid(self):
        marks = []
        bottom = PANEL_HEIGHT - BOTTOM
        for exponent in range(self.costs[0], self.costs[1] + 1):
            y = self.y(10.0**exponent)
            marks.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{PANEL_WIDTH - RIGHT}"/>')
            marks.append(f'<text class="soft" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{power(exponent)}</text>')
        for exponent in range(self.sizes[0], self.sizes[1] + 1):
            x = self.x(10.0**exponent)
            marks.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
            marks.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{power(exponent)}</text>')
        return marks


def curve(axes, points, color, name, above):
    """One series: a line, its points, the cost at its end, and its name there or the cost at its start."""
    places = [(axes.x(size), axes.y(cost)) for size, cost in points]
    marks = [f'<polyline class="line {color}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>']
    for (size, cost), (x, y) in zip(points, places):
        marks.append(f'<circle class="dot {color}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{size:,}: {cost:,.4g}</title></circle>')
    shift = -9 if above else 18
    (x, y), cost = places[-1], short(points[-1][1])
    if name:
        text = f'<tspan class="name {color}">{escape(name)}:</tspan> {cost}'
    else:
        text = cost
        first_x, first_y = places[0]
        # Beside a line that climbs, above one that does not.
        aside, up = (12, -1) if first_y - y > PANEL_HEIGHT / 5 else (4, 9)
        marks.append(f'<text class="ink" x="{first_x + aside:.1f}" y="{first_y - up:.1f}">{short(points[0][1])}</text>')
    marks.append(f'<text class="ink" x="{x + 6:.1f}" y="{y + shift:.1f}" text-anchor="end">{text}</text>')
    return marks


def panel(title, size_name, cost_name, series):
    """The marks of one panel, or none where nothing of it was measured."""
    series = [(points, name) for points, name in series if points]
    if not series:
        return []
    axes = Axes([point for points, _ in series for point in points])
    marks = [f'<text class="title ink" x="{LEFT - 40}" y="16">{escape(title)}</text>']
    marks.append(f'<text class="soft" x="{LEFT - 40}" y="32">{escape(cost_name)}</text>')
    marks += axes.grid()
    middle = (LEFT + PANEL_WIDTH - RIGHT) / 2
    marks.append(f'<text class="soft" x="{middle}" y="{PANEL_HEIGHT - 10}" text-anchor="middle">{escape(size_name)}</text>')
    highest = max(points[-1][1] for points, _ in series)
    for index, (points, name) in enumerate(series):
        marks += curve(axes, points, "ab"[index], name, points[-1][1] == highest)
    return marks


def chart(results):
    """The SVG of the row `scaling` of measured results."""
    found = results["rows"].get("scaling", {}).get("series", {})
    panels = [panel(title, size, cost, [(found.get(key), name) for key, name in series]) for title, size, cost, series in PANELS]
    panels = [marks for marks in panels if marks]
    if not panels:
        raise SystemExit("these results have nothing of the row scaling")
    rows = -(-len(panels) // COLUMNS)
    height = HEAD + rows * (PANEL_HEIGHT + 12)
    machine = results["machine"]
    about = f"{machine['cpu']}, {machine['cpus']} cores; {machine['date'][:10]}; native policy; one run; logarithmic axes"
    # What was measured just before leaves a load of about 1 behind.
    if machine["load_at_start"] > machine["cpus"]:
        about += f"; a busy machine, load {machine['load_at_start']:.0f}"
    if results["quick"]:
        about = f"NO MEASUREMENT: --quick; {about}"
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">']
    text += ["<title>How cost grows with size</title>", f"<style>{STYLE}</style>"]
    text.append(f'<rect class="ground" width="{WIDTH}" height="{height}"/>')
    text.append('<text class="head ink" x="14" y="24">How cost grows with size</text>')
    text.append(f'<text class="soft" x="14" y="41">{escape(about)}</text>')
    for index, marks in enumerate(panels):
        x, y = 4 + index % COLUMNS * (PANEL_WIDTH + 12), HEAD + index // COLUMNS * (PANEL_HEIGHT + 12)
        text += [f'<g transform="translate({x} {y})">', *marks, "</g>"]
    return "\n".join([*text, "</svg>", ""])
