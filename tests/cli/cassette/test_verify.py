"""`mockserver cassette verify`: findings on a line each, and exit codes."""

import json
import shlex
from pathlib import Path

from msgspec.structs import replace

from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chat, chats


def test_findings_are_told_and_make_it_1(place: Place) -> None:
    good = chat("Hi", {"text": "Hello"})
    bad = replace(good, reply=replace(good.reply, body=b'{"id": 3}'))
    place.keep("chat", good, bad)
    ran = place.run("verify", "chat", "--max-age", "1d")
    assert ran.code == 1
    told = ran.out.splitlines()
    assert told[0].startswith("cassettes/chat.yaml#1: is ")
    assert told[0].endswith(" days old; record it again")
    assert "cassettes/chat.yaml#2: the answer has no $.choices; add it, or record it again" in told
    assert told[-1] == f"1 cassette, 2 episodes, {len(told) - 1} findings"


def test_what_was_not_played_by_a_journal(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    Path("all calls.json").write_text(json.dumps({"calls": [{"source": "cassette chat.yaml#2"}, {"source": "rule a"}]}))
    ran = place.run("verify", "--journal", "all calls.json")
    told = ran.out.splitlines()[0]
    command = "mockserver cassette prune chat --unplayed 'all calls.json'"
    assert (ran.code, told) == (1, f"cassettes/chat.yaml#1: was not played; to remove all such episodes: {command}")
    assert place.run(*shlex.split(command)[2:]).out.endswith("cassettes/chat.yaml: 1 episode removed, 1 left\n")


def test_a_broken_file_is_2_and_the_rest_is_checked(place: Place) -> None:
    place.keep("good", *chats(("Hi", "Hello")))
    (place.folder / "bad.yaml").write_text("hello")
    (place.folder / "empty.yaml").touch()
    ran = place.run("verify")
    assert (ran.code, ran.out) == (2, "1 cassette, 1 episode, 0 findings; 2 cassettes not checked\n")
    assert "cassettes/bad.yaml:1:1" in ran.err
    assert "cassettes/empty.yaml: the file is empty: was it cut off? Record it again, or remove it\n" in ran.err


def test_one_episode_alone(place: Place) -> None:
    good = chat("Hi", {"text": "Hello"})
    bad = replace(good, operation="caht")
    place.keep("chat", chat("Hi", {"text": "Hello"}), bad)
    assert place.run("verify", "chat#1").out == "1 cassette, 1 episode, 0 findings\n"
    assert place.run("verify", "chat#2").out.endswith("\n1 cassette, 1 episode, 1 finding\n")
    ran = place.run("verify", "chat#3", "none", "chat#1")
    assert (ran.code, ran.out) == (2, "1 cassette, 1 episode, 0 findings; 2 cassettes not checked\n")
    assert ran.err.startswith("mockserver: cassettes/chat.yaml has 2 episodes; there is no #3\nmockserver: there is no")


def test_nothing_to_check(place: Place) -> None:
    place.folder.mkdir()
    ran = place.run("verify")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "0 cassettes, 0 episodes, 0 findings\n",
        "no cassettes in cassettes\n",
    )
