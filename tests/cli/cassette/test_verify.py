"""`mockserver cassette verify`: findings on a line each, and exit codes."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import httpx

from mockserver.server.live import Sources, start
from mockserver.server.run import Running
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chat, chats


def test_good_cassettes(place: Place) -> None:
    place.keep("a", *chats(("Hi", "Hello")))
    place.keep("b", *chats(("Hi", "Hello"), stream=True))
    ran = place.run("verify")
    assert (ran.code, ran.out, ran.err) == (0, "2 cassettes, 2 episodes, 0 findings\n", "")


def test_findings_are_told_and_make_it_1(place: Place) -> None:
    good = chat("Hi", {"text": "Hello"})
    bad = replace(good, model="text-davinci-003", reply=replace(good.reply, body=b'{"id": 3}'))
    place.keep("chat", good, bad)
    ran = place.run("verify", "chat", "--max-age", "1d")
    assert ran.code == 1
    told = ran.out.splitlines()
    assert told[0].startswith("cassettes/chat.yaml#1: is ")
    assert told[0].endswith(" days old; record it again")
    assert "cassettes/chat.yaml#2: the answer has no $.created; add it, or record it again" in told
    assert told[-2].startswith("cassettes/chat.yaml#2: uses text-davinci-003, which was retired on 2024-01-04")
    assert told[-1] == f"1 cassette, 2 episodes, {len(told) - 1} findings"


def test_what_was_not_played_by_a_journal(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    Path("all calls.json").write_text(json.dumps({"calls": [{"source": "cassette chat.yaml#2"}, {"source": "rule a"}]}))
    ran = place.run("verify", "--journal", "all calls.json")
    told = ran.out.splitlines()[0]
    command = "mockserver cassette prune chat --unplayed 'all calls.json'"
    assert (ran.code, told) == (1, f"cassettes/chat.yaml#1: was not played; to remove all such episodes: {command}")
    assert place.run(*shlex.split(command)[2:]).out.endswith("cassettes/chat.yaml: 1 episode removed, 1 left\n")


def test_what_can_never_be_played(place: Place) -> None:
    place.keep("chat", replace(chat("Hi", {"text": "Hello"}), dialect="opnai"))
    ran = place.run("verify")
    assert (ran.code, ran.out.splitlines()) == (
        1,
        [
            'cassettes/chat.yaml#1: can never be replayed: unknown dialect "opnai"; did you mean "openai"?',
            "1 cassette, 1 episode, 1 finding",
        ],
    )


def test_a_broken_file_is_2_and_the_rest_is_checked(place: Place) -> None:
    place.keep("good", *chats(("Hi", "Hello")))
    (place.folder / "bad.yaml").write_text("hello")
    ran = place.run("verify")
    assert (ran.code, ran.out) == (2, "1 cassette, 1 episode, 0 findings\n")
    assert "cassettes/bad.yaml:1:1" in ran.err


def test_an_age_that_is_none(place: Place) -> None:
    assert place.run("verify", "--max-age", "soon").err == (
        "mockserver: Invalid value for '--max-age': soon is not an age; write 90d, 2w or 12h\n"
    )


def test_one_episode_alone(place: Place) -> None:
    bad = replace(chat("Hi", {"text": "Hello"}), model="text-davinci-003")
    place.keep("chat", chat("Hi", {"text": "Hello"}), bad)
    assert place.run("verify", "chat#1").out == "1 cassette, 1 episode, 0 findings\n"
    assert place.run("verify", "chat#2").out.endswith("\n1 cassette, 1 episode, 1 finding\n")
    ran = place.run("verify", "chat#3", "none", "chat#1")
    assert (ran.code, ran.out) == (2, "1 cassette, 1 episode, 0 findings\n")
    assert ran.err.startswith("mockserver: cassettes/chat.yaml has 2 episodes; there is no #3\nmockserver: there is no")


def test_a_link_out_of_the_folder_does_not_stop_the_rest(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello")))
    (place.folder / "bad.yaml").symlink_to("/etc/hostname")
    ran = place.run("verify")
    assert (ran.code, ran.out) == (2, "1 cassette, 1 episode, 0 findings\n")
    assert "this link leads out of cassettes" in ran.err


def test_nothing_to_check(place: Place) -> None:
    place.folder.mkdir()
    ran = place.run("verify")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "0 cassettes, 0 episodes, 0 findings\n",
        "no cassettes in cassettes\n",
    )


def test_what_a_server_that_wants_a_token_has_not_played(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    live = start(Sources((), {"port": 0, "cassette": "chat", "control_token": "open-sesame"}, {}))
    with Running(live) as running:
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Ho"}]}
        httpx.post(f"{running.address}/v1/chat/completions", json=body, trust_env=False)
        refused = place.run("verify", "--journal", running.address)
        Path("rules.yaml").write_text("settings: {control_token: open-sesame}\n")
        ran = place.run("verify", "--journal", running.address)
    assert (refused.code, ran.code) == (2, 1)
    assert "its control API needs a token; set --control-token or MOCKSERVER_CONTROL_TOKEN" in refused.err
    assert ran.out.splitlines()[0].startswith("cassettes/chat.yaml#1: was not played; ")
    assert ran.out.endswith("\n1 cassette, 2 episodes, 1 finding\n")
