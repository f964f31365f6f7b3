"""The compiled index: the very episodes, made anew whenever it does not fit, and never missed."""

import json
from pathlib import Path
from time import process_time  # what others do at the same time does not count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes import index
from mockserver.cassettes.format import HEAD, document, episodes
from mockserver.cassettes.index import MIN_SIZE, index_of, indexed
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
    """Has the index say something that the file does not, to tell who is asked."""
    text = index_of(path).read_text()
    assert '"gpt-4o"' in text
    index_of(path).write_text(text.replace('"gpt-4o"', '"marked"'))


def test_the_index_holds_the_very_episodes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert len(DATA) > MIN_SIZE
    assert through(path) == ALL
    assert index_of(path) == tmp_path / ".index" / "a.yaml.json"
    assert through(path) == ALL
    marked(path)
    assert {each.model for each in through(path)} == {"marked"}


def test_it_is_nobody_elses_affair(tmp_path: Path) -> None:
    through(tmp_path / "a.yaml")
    assert (tmp_path / ".index" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / ".index").stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / ".index").iterdir()} == {0o600}
    assert sorted(each.name for each in (tmp_path / ".index").iterdir()) == [".gitignore", "a.yaml.json"]


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


@pytest.mark.parametrize(
    "data",
    [
        DATA.replace(b"Rain.", b"Snow.", 1),
        DATA + b"\n# a comment\n",
        DATA + b"# a comment\n---\n" + DOCUMENTS[0].encode()[4:],
        DATA[: -len(DOCUMENTS[-1].encode())],
        b"# mine\n" + DATA,
    ],
)
def test_a_stale_index_is_made_anew(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.yaml"
    through(path)
    marked(path)
    assert through(path, data) == episodes(data, "a.yaml")
    marked(path)
    assert {each.model for each in through(path, data)} == {"marked"}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff\x00",
        b'{"size": -1}',
        b'{"size": 10, "format": 1}',
        json.dumps({"size": len(DATA), "format": 1, "sha256": index._hash(DATA), "lines": 1, "episodes": [1]}).encode(),
        json.dumps(
            {"size": len(DATA), "format": 1, "sha256": index._hash(DATA), "lines": 1, "episodes": [[]]}
        ).encode(),
        json.dumps({"size": len(DATA), "format": 0, "sha256": index._hash(DATA), "lines": 1, "episodes": []}).encode(),
    ],
)
def test_a_broken_index_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "a.yaml"
    through(path)
    index_of(path).write_bytes(broken)
    assert through(path) == ALL
    marked(path)
    assert {each.model for each in through(path)} == {"marked"}


def test_without_a_place_for_it_all_goes_on(tmp_path: Path) -> None:
    (tmp_path / ".index").write_text("in the way")
    assert through(tmp_path / "a.yaml") == ALL
    assert through(tmp_path / "none" / "a.yaml") == ALL
    (tmp_path / "b" / ".index" / "a.yaml.json").mkdir(parents=True)
    assert through(tmp_path / "b" / "a.yaml") == ALL
    assert sorted(each.name for each in (tmp_path / "b" / ".index").iterdir()) == [".gitignore", "a.yaml.json"]


def test_a_small_cassette_needs_none(tmp_path: Path) -> None:
    assert len(through(tmp_path / "a.yaml", HEAD.encode() + DOCUMENTS[0].encode())) == 1
    assert list(tmp_path.iterdir()) == []


@given(st.lists(hostile.episodes, max_size=3))
@thrown(60)
def test_any_episode_comes_out_of_it_as_it_went_in(found: list[Episode]) -> None:
    rows = json.loads(json.dumps([index._row(each) for each in found]))
    assert [index._episode(row, "") for row in rows] == found


def test_a_thousand_episodes_load_in_a_blink(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    text = document(samples.stream(1, events=29))
    data = (HEAD + "".join(text.replace("chatcmpl-1", f"chatcmpl-{at}") for at in range(1000))).encode()
    cold = process_time()
    assert len(through(path, data)) == 1000
    between = process_time()
    took = []
    for _ in range(5):
        begun = process_time()
        assert len(indexed(path, data, "a.yaml")) == 1000
        took.append(process_time() - begun)
    assert min(took) < 0.2
    assert min(took) < (between - cold) / 3
