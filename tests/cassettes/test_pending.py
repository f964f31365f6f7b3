"""Half an append at the end of a file is known by the note beside it, and nothing else is taken away."""

from pathlib import Path

import pytest

from mockserver.cassettes import store
from mockserver.cassettes.store import PendingAppend

NOTE = PendingAppend(4, b"---\nabcdef\n")


@pytest.mark.parametrize("count", range(len(NOTE.document)))
def test_half_an_append_is_taken_away(count: int) -> None:
    assert NOTE.whole(b"old\n" + NOTE.document[:count]) == b"old\n"
    assert NOTE.whole(b"old\n" + NOTE.document[:count] + b"\0" * (len(NOTE.document) - count)) == b"old\n"


@pytest.mark.parametrize(
    "data",
    [
        b"old\n" + NOTE.document,
        b"old\n" + NOTE.document + b"---\nnext\n",
        b"old\n---\nabcdeX",
        b"old\n---\nother\n",
        b"old\nabc",
        b"old",
        b"",
        b"old\n" + NOTE.document + b"\0",
    ],
)
def test_all_else_stays(data: bytes) -> None:
    assert NOTE.whole(data) == data


def test_a_note_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert store.read_note(path) is None
    store.write_note(path, NOTE)
    assert store.note_path(path).stat().st_mode & 0o777 == 0o600
    assert store.read_note(path) == NOTE
    store.drop_note(path)
    store.drop_note(path)
    assert store.read_note(path) is None
    assert list(tmp_path.iterdir()) == []


def test_half_a_note_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    store.write_note(path, NOTE)
    whole = store.note_path(path).read_bytes()
    for count in range(len(whole)):
        store.note_path(path).write_bytes(whole[:count])
        assert store.read_note(path) is None
    for other in (whole + b"x", whole.replace(b"abc", b"abd"), b"[1]\n---\n", b"{}\n", b"\xff\n"):
        store.note_path(path).write_bytes(other)
        assert store.read_note(path) is None


def test_a_note_is_written_over_no_link(tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.write_text("mine")
    path = tmp_path / "a.yaml"
    store.note_path(path).symlink_to(aim)
    with pytest.raises(OSError, match="symbolic links"):
        store.write_note(path, NOTE)
    assert aim.read_text() == "mine"
