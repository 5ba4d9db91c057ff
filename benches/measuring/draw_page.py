"""The chart of docs/performance.md, drawn from the page's own table of questions: bars of the time here beside PostgreSQL's.

The axis is logarithmic, and the line in its middle is PostgreSQL: a bar to the left of it is a question that takes less time here.
"""

import math
import re
from html import escape

from .draw import STYLE

WIDTH, NAMES, BAR, HEAD, FOOT = 760, 270, 19, 40, 34
LOW, HIGH = 0.003, 3.0
MARKS = (0.01, 0.1, 0.5, 1, 2)


def questions(page):
    """Each question with its ratio, out of the table whose head is `question | vlflab | PostgreSQL | ratio`."""
    table = page.split("| question | vlflab | PostgreSQL | ratio |\n", 1)[1].split("\n\n", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    return [(row[0], float(re.match(r"[0-9.]+", row[3]).group())) for row in rows]


def place(ratio):
    """Where a ratio lies on the axis."""
    share = (math.log10(ratio) - math.log10(LOW)) / (math.log10(HIGH) - math.log10(LOW))
    return NAMES + share * (WIDTH - NAMES - 40)


def chart(page):
    """The SVG of the page's questions."""
    rows = questions(page)
    bottom = HEAD + len(rows) * BAR
    one = place(1)
    title = "Time here for PostgreSQL's time, by question"
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" width="{WIDTH}" height="{bottom + FOOT}" role="img">']
    text += [f"<title>{title}</title>", f"<style>{STYLE}.bar {{ fill: #0969da }} .slow {{ fill: #bc4c00 }}</style>"]
    text.append(f'<rect class="ground" width="{WIDTH}" height="{bottom + FOOT}"/>')
    text.append(f'<text class="head ink" x="14" y="24">{title}</text>')
    for mark in MARKS:
        x = place(mark)
        text.append(f'<path class="grid" d="M{x:.1f} {HEAD}V{bottom}"/>')
        text.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{mark:g}</text>')
    for index, (name, ratio) in enumerate(rows):
        x, y = place(ratio), HEAD + index * BAR
        text.append(f'<text class="ink" x="{NAMES - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        kind = "bar" if ratio <= 1 else "slow"
        text.append(f'<rect class="{kind}" x="{min(x, one):.1f}" y="{y + 3}" width="{abs(one - x):.1f}" height="{BAR - 6}"/>')
        beside = f'x="{x - 5:.1f}" text-anchor="end"' if ratio <= 1 else f'x="{x + 5:.1f}"'
        text.append(f'<text class="soft" {beside} y="{y + 13}">{ratio:g}</text>')
    return "\n".join([*text, "</svg>", ""])
