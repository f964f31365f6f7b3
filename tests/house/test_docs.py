"""README and docs are true: whatever they show is run, and must come out as shown."""

from pathlib import Path

import pytest

from tests.house.pages import Block, Reader, blank_examples, find_blocks, is_as_expected

ROOT = Path(__file__).parents[2]
# Run by tests/frameworks, where these are; what follows an example is run by tests/examples.
ELSEWHERE = {ROOT / "docs" / "guides" / "frameworks.md"}
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - ELSEWHERE)]


@pytest.mark.timeout(400)  # a page may run dozens of commands
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_true(page: Path, tmp_path: Path, programs: Path) -> None:
    (tmp_path / "rules.yaml").write_text((ROOT / "rules.yaml").read_text())  # what a page's reader has
    wrong = Reader(tmp_path, programs=programs).follow(blank_examples(page.read_text()))
    assert not wrong, "\n".join([f"{page.name}:", *wrong])


WRONG = """
```text title="a.txt"
hi
```
```console
$ cat a.txt
hi
$ echo no
yes
```
```python
print(1)
```
```output
2
```
"""


def test_the_reader_notices_what_is_wrong(tmp_path: Path) -> None:
    assert Reader(tmp_path).follow(WRONG) == ["line 5: `echo no` prints\nno\n", "line 14: the script prints\n1\n"]


SERVED = """
```console
$ mockserver serve rules.yaml &
mockserver whispers
$ curl -s http://127.0.0.1:8000/v1/models/gpt-4o | cut -c 1-15
{"id":"gpt-4o",
```
```yaml title="rules.yaml"
rules: 7
```
```output
not reloaded
```
"""


def test_the_reader_listens_to_the_server(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: []\n")
    started, reloaded = Reader(tmp_path, patience=1).follow(SERVED)
    assert started.startswith("line 2: the server says\nmockserver listens on http://127.0.0.1:")
    assert reloaded.startswith(
        "line 11: the server says\nnot reloaded; the previous rules stay in effect:\nrules.yaml:1:8: "
    )


def test_blocks_are_found_with_their_titles() -> None:
    assert list(find_blocks('a\n```yaml title="r.yaml"\nx: 1\n```\n')) == [Block("yaml", "r.yaml", "x: 1\n", 2)]


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        ("", "", True),
        ("a\n", "a", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a, recorded 2026-01-31: b\n", "a, recorded 2026-02-01: b\n", True),
        ("1 passed in 0.01s\n", "1 passed in 12.34s\n", True),
        ("1 passed in 0.01s\n", "2 passed in 0.01s\n", False),
    ],
)
def test_three_dots_stand_for_any_lines(expected: str, actual: str, equal: bool) -> None:
    assert is_as_expected(expected, actual) is equal
