"""The recording of a terminal in README.md shows what README.md says.

`pytest tests/house/test_recording.py --update` draws it again.
"""

from pathlib import Path
from xml.etree import ElementTree

from tests.house.recording import COLUMNS, drawn

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "docs" / "pictures" / "terminal.svg"


def test_the_recording_shows_what_the_readme_says(update: bool) -> None:
    svg = drawn((ROOT / "README.md").read_text(), "As a server")
    if update:
        RECORDING.write_text(svg)
    assert RECORDING.read_text() == svg, "run pytest tests/house/test_recording.py --update"
    lines = [each.text or "" for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert lines[0] == "$ cat my.yaml"
    assert '"content":"Paris, of course."' in lines
    assert max(map(len, lines)) <= COLUMNS
