"""Draws the blocks of a page as a recording of a terminal: an SVG whose lines appear one after the other.

The blocks are run as tests, so the recording shows what happens. Readers who prefer no motion see all lines at once.
"""

import re
from collections.abc import Iterator
from html import escape
from itertools import accumulate

from tests.house.pages import find_blocks

COLUMNS = 108
_LINE, _COLUMN, _MARGIN = 20, 8.4, 18  # pixels
_TYPED = 0.025  # seconds for a character
_STYLE = """
text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9; white-space: pre }
.typed { fill: #7ee787; animation: type both } .printed { animation: show .01s both }
@keyframes type { from { clip-path: inset(0 100% 0 0) } to { clip-path: inset(0) } }
@keyframes show { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { animation: none !important } }
"""


def draw(page: str, heading: str) -> str:
    """Return the SVG of the blocks below a heading of the page."""
    section = re.split(r"^## ", page.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    lines = list(_list_lines(section))[1:]
    seconds = [len(text) * _TYPED + 0.4 if typed else 0.12 for text, typed in lines]
    starts = accumulate(seconds, initial=0.5)
    rows = [_draw_row(*line, row, start) for row, (line, start) in enumerate(zip(lines, starts, strict=False))]
    width, height = round(COLUMNS * _COLUMN) + 2 * _MARGIN, len(rows) * _LINE + 2 * _MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    frame = '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>{frame}'
    return "\n".join([head, *rows, "</svg>\n"])


def _list_lines(section: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of the terminal, and whether it is typed."""
    for block in find_blocks(section):
        said = f"$ cat {block.title}\n{block.body}" if block.title else block.body
        for line in said.splitlines():
            typed = line.startswith(("$ ", "> "))
            if line.startswith("$ "):
                yield "", False
            yield line, typed


def _draw_row(text: str, typed: bool, row: int, start: float) -> str:
    style = f"animation-delay: {start:.2f}s"
    if typed:
        style += f"; animation-duration: {len(text) * _TYPED:.2f}s; animation-timing-function: steps({len(text)})"
    kind = "typed" if typed else "printed"
    return f'<text x="{_MARGIN}" y="{_MARGIN + row * _LINE + 14}" class="{kind}" style="{style}">{escape(text)}</text>'
