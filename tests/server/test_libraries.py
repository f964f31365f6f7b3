"""Cassettes are read once, and recorded into."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mockserver.config.cassettes import Match
from mockserver.config.errors import CassetteError, MockserverError
from mockserver.server.cassette_store import Libraries, Reels, in_folder
from mockserver.server.live import Sources, start
from tests.kit.reels import Folder, chat, episode, folder
from tests.kit.rules import loaded

MISSING = 'there is no cassette "chat"; to record it, start with --record once and --upstream DIALECT=URL'


def libraries(held: Folder) -> Libraries:
    return Libraries(Reels(held.open), Match())


def test_a_cassette_is_read_once_under_both_of_its_names() -> None:
    held = libraries(folder(chat=[episode(chat("a"), "1")]))
    assert held.get("chat") is None
    library = held.load("chat.yaml")
    assert (library.file, library.size) == ("chat.yaml", 1)
    assert held.load("chat") is held.get("chat") is held.get("chat.yaml") is library


def test_one_that_is_not_there() -> None:
    held = libraries(folder())
    assert not held.exists("chat")
    with pytest.raises(CassetteError, match=MISSING):
        held.load("chat")
    assert held.load("chat", new=True).size == 0


def test_one_that_is_meant(tmp_path: Path) -> None:
    made = in_folder(str(tmp_path))
    made("chat").append(episode(chat("a"), "1"))
    with pytest.raises(CassetteError, match=r'in .*; did you mean "chat"\? To record it, start with --record once'):
        Libraries(Reels(made), Match()).load("chta")


def test_what_is_recorded_is_there_at_once_and_in_the_file() -> None:
    files = folder()
    held = libraries(files)
    assert held.save("chat", episode(chat("a"), "1")) == 1
    library = held.load("chat")
    assert held.save("chat.yaml", episode(chat("b"), "2")) == 2
    assert [entry.reply.source for entry in library.entries] == ["cassette chat.yaml#1", "cassette chat.yaml#2"]
    assert len(files.held["chat"].load()) == 2


def said(held: Folder) -> list[tuple[str, str]]:
    """What stands in the file, each with what was asked."""
    found = held.held["chat"].load()
    return [(json.loads(each.request.body)["messages"][0]["content"], each.reply.body.decode()) for each in found]


def test_what_is_recorded_anew_takes_the_place_of_all_that_answered_the_same() -> None:
    files = folder(chat=[episode(chat(text), reply) for text, reply in (("a", "1"), ("b", "2"), ("a", "3"))])
    held = libraries(files)
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
    held = libraries(files)
    held.renew("chat")
    held.save("chat", episode(chat("a"), "3"))
    held = Libraries(held.reels, Match())
    held.renew("chat")
    held.save("chat", episode(chat("a"), "4"))
    held.save("chat", episode(chat("b"), "5"))
    assert said(files) == [("a", "3"), ("b", "5"), ("a", "4")]


def test_a_cassette_that_is_begun_anew() -> None:
    files = folder()
    held = libraries(files)
    held.renew("chat")
    assert [held.save("chat", episode(chat("a"), reply)) for reply in "12"] == [1, 2]
    assert said(files) == [("a", "1"), ("a", "2")]


def test_one_that_is_removed_meanwhile_is_begun_again() -> None:
    files = folder(chat=[episode(chat("a"), "1")])
    held = libraries(files)
    held.renew("chat")
    files.held["chat"].episodes = None
    held = Libraries(held.reels, Match())
    assert held.save("chat", episode(chat("a"), "2")) == 1
    assert said(files) == [("a", "2")]


def test_an_episode_that_answers_nothing_takes_no_place() -> None:
    files = folder(chat=[episode(chat("a"), "1")])
    held = libraries(files)
    held.renew("chat")
    assert held.save("chat", replace(episode(chat("a"), "2"), dialect="none")) == 2


RULES = """
rules:
  - {name: played, then: {cassette: chat}}
  - {name: steps, then: {steps: [{text: a}, {one_of: [{then: {cassette: other}}]}]}}
"""


def test_cassettes_that_rules_name_must_be_there(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with pytest.raises(MockserverError) as refused:
        start(Sources((file,), {}, {}, folder(other=[])))
    assert [(m.place.line, m.message) for m in refused.value.mistakes if m.place] == [(3, f'rule "played": {MISSING}')]
    live = start(Sources((file,), {}, {}, folder(chat=[], other=[])))
    assert live.player.libraries.get("other") is not None


def test_a_name_that_cannot_be_is_told_where_it_stands() -> None:
    from mockserver.server.cassette_store import check

    with pytest.raises(MockserverError) as refused:
        check(loaded("rules: [{then: {cassette: ../a}}]"), libraries(folder()))
    assert str(refused.value).startswith('r.yaml:1:9: "../a" is no name of a cassette')
