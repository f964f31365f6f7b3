"""`mockserver cassette scrub`: done to what is there, and told."""

from dataclasses import replace
from pathlib import Path

from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats


def test_what_the_settings_say_now(place: Place) -> None:
    first, second = chats(("Hi", "Hello Ada"), ("Ho", "Hello"))
    leaky = replace(second.request, headers=(*second.request.headers, ("authorization", "Bearer sk-0123456789")))
    place.keep("chat", first, replace(second, request=leaky))
    Path("rules.yaml").write_text("settings:\n  scrub: [{regex: Ada, with: <name>}]\nrules: []\n")
    before = place.episodes("chat")
    ran = place.run("scrub", "chat", "--dry-run")
    assert (ran.code, ran.out) == (
        0,
        "cassettes/chat.yaml#1: answer body\n"
        "cassettes/chat.yaml#2: request headers\n"
        "cassettes/chat.yaml: 2 episodes to scrub\n",
    )
    assert place.episodes("chat") == before
    assert place.run("scrub", "chat").out.endswith("cassettes/chat.yaml: 2 episodes scrubbed\n")
    assert b"<name>" in place.episodes("chat")[0].reply.body
    assert b"Ada" not in place.episodes("chat")[0].reply.body
    assert "authorization" not in dict(place.episodes("chat")[1].request.headers)
    assert place.run("scrub", "chat").out == "cassettes/chat.yaml: 0 episodes scrubbed\n"


def test_a_cassette_must_be_named(place: Place) -> None:
    assert place.run("scrub").err == "mockserver: Missing argument 'NAME...'.\n"
