"""The recording of a terminal shows what the page of the first server says.

`pytest tests/house/test_recording.py --update` draws it again.
"""

from pathlib import Path
from xml.etree import ElementTree

from tests.house.recording import COLUMNS, draw

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "start" / "first-server.md"
RECORDING = ROOT / "docs" / "pictures" / "terminal.svg"


def test_the_recording_shows_what_the_page_says(update: bool) -> None:
    svg = draw(PAGE.read_text(), "Write rules")
    if update:
        RECORDING.write_text(svg)
    assert RECORDING.read_text() == svg, "run pytest tests/house/test_recording.py --update"
    lines = [each.text or "" for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert lines[0] == "$ cat rules.yaml"
    assert '"content":"It is sunny in Oslo."' in lines
    assert max(map(len, lines)) <= COLUMNS
