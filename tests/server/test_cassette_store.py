"""Cassettes are read once, recorded into, and watched for what others write."""

import json
import re

import pytest

from mockserver.config.errors import CassetteError, MockserverError
from mockserver.config.recording import Match
from mockserver.server.cassette_store import CassetteStore
from mockserver.server.live import Sources, start
from tests.kit.reels import Folder, chat, episode, folder
from tests.kit.rules import loaded

MISSING = r'there is no cassette "chat" in .*; to record it, start with --record once and --upstream DIALECT=URL'


def test_a_cassette_is_read_once_under_both_of_its_names() -> None:
    held = folder(chat=[episode(chat("a"), "1")]).store()
    assert held.get("chat") is None
    library = held.load("chat.yaml")
    assert (library.file, library.size) == ("chat.yaml", 1)
    assert held.load("chat") is held.get("chat") is held.get("chat.yaml") is library


def test_one_that_is_not_there() -> None:
    held = folder().store()
    assert not held.exists("chat")
    with pytest.raises(CassetteError, match=MISSING):
        held.load("chat")
    assert held.load("chat", new=True).size == 0


def test_what_is_recorded_is_there_at_once_and_in_the_file() -> None:
    files = folder()
    held = files.store()
    assert held.save("chat", episode(chat("a"), "1")) == 1
    library = held.load("chat")
    assert held.save("chat.yaml", episode(chat("b"), "2")) == 2
    assert [entry.reply.source for entry in library.entries] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert len(files.file("chat").load()) == 2


def said(held: Folder) -> list[tuple[str, str]]:
    """What stands in the file, each with what was asked."""
    found = held.file("chat").load()
    return [(json.loads(each.request.body)["messages"][0]["content"], each.reply.body.decode()) for each in found]


def test_what_is_recorded_anew_takes_the_place_of_all_that_answered_the_same() -> None:
    files = folder(chat=[episode(chat(text), reply) for text, reply in (("a", "1"), ("b", "2"), ("a", "3"))])
    held = files.store()
    held.renew("chat.yaml")
    assert held.save("chat", episode(chat("a"), "4")) == 1
    assert said(files) == [("a", "4"), ("b", "2")]
    assert held.save("chat", episode(chat("a"), "5")) == 3
    assert held.save("chat", episode(chat("c"), "6")) == 4
    assert said(files) == [("a", "4"), ("b", "2"), ("a", "5"), ("c", "6")]
    library = held.load("chat")
    assert [(entry.reply.source, entry.reply.body) for entry in library.entries] == [
        *(("cassette chat.yaml#1", b"4"), ("cassette chat.yaml#2", b"2")),
        *(("cassette chat.yaml#3", b"5"), ("cassette chat.yaml#4", b"6")),
    ]
    assert [entry.number for entry in library.alike(episode(chat("a"), ""))] == [1, 3]


def test_what_a_run_has_recorded_anew_stays_whatever_is_reloaded() -> None:
    files = folder(chat=[episode(chat("a"), "1"), episode(chat("b"), "2")])
    held = files.store()
    held.renew("chat")
    held.save("chat", episode(chat("a"), "3"))
    held = held.reloaded(Match())
    held.renew("chat")
    held.save("chat", episode(chat("a"), "4"))
    held.save("chat", episode(chat("b"), "5"))
    assert said(files) == [("a", "3"), ("b", "5"), ("a", "4")]


def test_one_that_is_removed_meanwhile_is_begun_again() -> None:
    files = folder(chat=[episode(chat("a"), "1")])
    held = files.store()
    held.renew("chat")
    files.file("chat").path.unlink()
    held = held.reloaded(Match())
    assert held.save("chat", episode(chat("a"), "2")) == 1
    assert said(files) == [("a", "2")]


RULES = """
rules:
  - {name: played, then: {cassette: chat}}
  - {name: steps, then: {steps: [{text: a}, {one_of: [{then: {cassette: other}}]}]}}
"""


def test_cassettes_that_rules_name_must_be_there(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with pytest.raises(MockserverError) as refused:
        start(Sources((file,), {"cassettes": str(folder(other=[]).path)}, {}))
    (mistake,) = refused.value.mistakes
    assert mistake.place is not None
    assert mistake.place.line == 3
    assert re.fullmatch(f'rule "played": {MISSING}', mistake.message)
    both = folder(chat=[], other=[])
    live = start(Sources((file,), {"cassettes": str(both.path)}, {}))
    assert live.player.cassettes.get("other") is not None


def test_a_name_that_cannot_be_is_told_where_it_stands() -> None:
    from mockserver.server.cassette_store import check

    with pytest.raises(MockserverError) as refused:
        check(loaded("rules: [{then: {cassette: ../a}}]"), folder().store())
    assert str(refused.value).startswith("r.yaml:1:9: '../a' is not a valid cassette name")


ONE, TWO, THREE = (episode(chat(text), text) for text in "abc")


@pytest.fixture
def files() -> Folder:
    """A folder with one cassette."""
    return folder(chat=[ONE, TWO])


@pytest.fixture
def store(files: Folder) -> CassetteStore:
    """What a run knows of it, once that cassette is read."""
    made = files.store()
    made.load("chat")
    return made


def test_what_is_written_here_is_no_change(store: CassetteStore) -> None:
    assert not store.changed()
    assert store.save("chat", THREE) == 3
    store.renew("chat")
    store.save("chat", ONE)
    assert not store.exists("new")
    assert store.save("new", ONE) == 1
    assert not store.changed()


def test_what_others_write_is_reported_once(store: CassetteStore, files: Folder) -> None:
    files.file("chat").append(THREE)
    assert [store.changed(), store.changed()] == [("chat",), ()]
    files.file("chat").append(THREE)
    assert store.save("chat", ONE) == 5
    assert [store.changed(), store.changed()] == [("chat",), ()]


def test_a_changed_cassette_is_read_again(store: CassetteStore, files: Folder) -> None:
    store.refresh("chat")
    assert store.get("chat") is not None
    files.file("chat").append(THREE)
    store.refresh("chat")
    assert store.get("chat") is None
    assert store.load("chat").size == 3


def test_a_cassette_that_comes_or_goes_is_a_change(store: CassetteStore, files: Folder) -> None:
    assert not store.exists("new")
    assert not store.changed()
    files.file("new").append(ONE)
    assert store.changed() == ("new",)
    assert store.exists("new")
    files.file("chat").path.unlink()
    assert [store.changed(), store.changed()] == [("chat",), ()]


def test_a_change_that_fails_leaves_stale_what_was(store: CassetteStore, files: Folder) -> None:
    path, again = files.file("chat").path, episode(chat("a"), "again")
    store.renew("chat")
    before = path.read_bytes()
    path.write_bytes(before + b"---\nhello\n")
    with pytest.raises(CassetteError):
        store.save("chat", again)
    assert path.read_bytes() == before + b"---\nhello\n"
    path.write_bytes(before)
    assert store.save("chat", again) == 1
