"""Names of cassettes that follow from those of tests."""

from pathlib import Path

import pytest

from mockserver.cassettes.store import named
from mockserver.testing.options import cassette_name

SAME = ["test_app", "TestChat.test_greets", "test_greets[gpt-4o-0.5]", "test_größe", "test_a[x=1, y=[2]]", "[x]"]
OTHER = {
    "test_a[b/c]": "test_a[b-c]~",
    "test_a[b:c]": "test_a[b-c]~",
    "test_a[GPT]": "test_a[GPT]~",
    "test_a[a\\xe9\n]": "test_a[a-xe9-]~",
    "../up": "up~",
    ".": "_~",
    "": "_~",
    "-x": "x~",
    "x. ": "x~",
    "x.yaml": "x.yaml~",
    "x" * 500: "x" * 150 + "~",
    "ö" * 500: "ö" * 75 + "~",
    "a\ud800": "a-~",
}


@pytest.mark.parametrize("name", SAME)
def test_what_a_disk_takes_stays(name: str, tmp_path: Path) -> None:
    assert cassette_name([name]) == name
    assert named(tmp_path, cassette_name(["test_it", name])).parent == tmp_path / "test_it"


@pytest.mark.parametrize(("name", "start"), OTHER.items(), ids=map(ascii, OTHER))
def test_what_it_may_not_take_ends_in_a_mark(name: str, start: str, tmp_path: Path) -> None:
    made = cassette_name([name])
    assert made[:-8] == start
    assert len(made.encode()) < 200
    named(tmp_path, cassette_name(["test_it", name]))


def test_two_tests_have_two_names() -> None:
    names = ["test_a[b/c]", "test_a[b:c]", "test_a[b-c]", "test_a[B-c]", "x" * 500, "x" * 501]
    assert len({cassette_name([name]).lower() for name in names}) == len(names)
