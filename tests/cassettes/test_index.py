"""The compiled index: the very episodes, made anew whenever it does not fit, and never missed."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import decode, encode

from mockserver.cassettes import store
from mockserver.cassettes.format import HEAD, document, episodes
from mockserver.cassettes.store import Index, index_of, indexed
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from tests.cassettes import hostile, samples
from tests.fuzz.amount import thrown

DOCUMENTS = [
    document(each) for number in range(60) for each in (samples.plain(number), samples.stream(number, events=9))
]
DATA = (HEAD + "".join(DOCUMENTS)).encode()
ALL = episodes(DATA, "a.yaml")


def through(path: Path, data: bytes = DATA) -> tuple[Episode, ...]:
    found = indexed(path, data, str(path))
    assert [each.reply.source for each in found] == [f"cassette a.yaml#{at}" for at in range(1, len(found) + 1)]
    return found


def marked(path: Path) -> None:
    index, text = index_of(path), index_of(path).read_text()
    assert '"gpt-4o"' in text
    written = index.stat().st_mtime_ns
    index.write_text(text.replace('"gpt-4o"', '"marked"'))
    os.utime(index, ns=(written, written))


def test_what_was_added_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    through(path)
    marked(path)
    more = through(path, DATA + DOCUMENTS[0].encode())
    assert [each.model for each in more] == ["marked"] * 120 + ["gpt-4o"]
    assert len(through(path, DATA + DOCUMENTS[0].encode() * 2)) == 122
    with pytest.raises(CassetteError) as caught:
        through(path, DATA + b"---\nhello\n")
    line = DATA.count(b"\n") + 2
    assert str(caught.value) == f"{path}:{line}:1: an episode must be a table  [hello]"


@given(st.lists(hostile.episodes, max_size=3))
@thrown(60)
def test_any_episode_comes_out_of_it_as_it_went_in(found: list[Episode]) -> None:
    made = Index.of(b"", tuple(found))
    assert decode(encode(made), type=Index) == made


def test_the_index_holds_the_very_episodes_for_their_user_only(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert len(through(path, HEAD.encode() + DOCUMENTS[0].encode())) == 1
    assert list(tmp_path.iterdir()) == []  # a small cassette needs none
    assert through(path) == through(path) == ALL
    marked(path)
    assert {each.model for each in through(path)} == {"marked"}
    folder = tmp_path / ".index"
    assert (folder.stat().st_mode & 0o777, (folder / ".gitignore").read_text()) == (0o700, "*\n")
    assert {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()} == {
        ".gitignore": 0o600,
        "a.yaml.json": 0o600,
    }


def test_an_index_that_comes_with_a_checkout_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "a.yaml"
    path.parent.mkdir()
    through(path)
    marked(path)
    theirs = tmp_path / "theirs" / "a.yaml"
    index_of(theirs).parent.mkdir(parents=True)
    shutil.copyfile(index_of(path), index_of(theirs))  # the content alone, as git does
    assert through(theirs) == ALL
    os.replace(index_of(path), tmp_path / "elsewhere")
    index_of(path).symlink_to(tmp_path / "elsewhere")
    assert through(path) == ALL


def test_a_link_in_place_of_a_note_or_of_the_index_s_folder_is_not_followed(tmp_path: Path) -> None:
    path, outside = tmp_path / "tapes" / "a.yaml", tmp_path / "outside"
    path.parent.mkdir()
    outside.mkdir()
    path.write_bytes(DATA)
    (path.parent / ".index").symlink_to(outside)
    store.note_path(path).symlink_to("/dev/zero")
    assert store.CassetteFile(path).load() == ALL
    assert list(outside.iterdir()) == []


HASHED = {
    "size": len(DATA),
    "format": store.FORMAT,
    "sha256": sha256(DATA).hexdigest(),
    "lines": 1,
    "episodes": [],
}


@pytest.mark.parametrize("broken", [{}, [], [{**HASHED, "episodes": [[]]}], [{**HASHED, "format": 0}]])
def test_a_broken_index_is_made_anew(tmp_path: Path, broken: object) -> None:
    path = tmp_path / "a.yaml"
    through(path)
    index_of(path).write_text(json.dumps(broken))
    assert through(path) == ALL
    marked(path)
    assert {each.model for each in through(path)} == {"marked"}


@pytest.mark.parametrize("data", [DATA.replace(b"Rain.", b"Snow.", 1), DATA + b"\n# a comment\n", b"# mine\n" + DATA])
def test_a_stale_index_is_made_anew(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.yaml"
    through(path)
    marked(path)
    assert through(path, data) == episodes(data, "a.yaml")


def test_without_a_place_for_it_episodes_are_read_as_yaml(tmp_path: Path) -> None:
    (tmp_path / ".index").write_text("in the way")
    assert through(tmp_path / "a.yaml") == ALL
    (tmp_path / "b" / ".index" / "a.yaml.json").mkdir(parents=True)
    assert through(tmp_path / "b" / "a.yaml") == ALL
