"""`mockserver cassette scrub`: done to what is there, and told."""

from pathlib import Path

from msgspec.structs import replace

from mockserver.cli.cassette import COMMANDS
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats


def test_what_the_settings_say_now(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello Ada"), ("Ho", "Hello")))
    Path("rules.yaml").write_text("settings:\n  scrub: [{regex: Ada, with: <name>}]\nrules: []\n")
    before = place.episodes("chat")
    dry = place.run("scrub", "chat", "--dry-run")
    told = "cassettes/chat.yaml#1: answer body\n"
    assert (dry.code, dry.out) == (0, f"{told}cassettes/chat.yaml: 1 episode to scrub\n")
    assert place.episodes("chat") == before
    assert place.run("scrub", "chat").out == f"{told}cassettes/chat.yaml: 1 episode scrubbed\n"
    assert b"<name>" in place.episodes("chat")[0].reply.body
    assert b"Ada" not in (place.folder / "chat.yaml").read_bytes()
    assert place.episodes("chat")[1] == before[1]


def test_credentials_that_were_kept(place: Place) -> None:
    (one,) = chats(("Hi", "Hello"))
    leaky = replace(one.request, headers=(*one.request.headers, ("authorization", "Bearer sk-0123456789")))
    place.keep("chat", replace(one, request=leaky))
    assert place.run("scrub", "chat").out == (
        "cassettes/chat.yaml#1: request headers\ncassettes/chat.yaml: 1 episode scrubbed\n"
    )
    assert "authorization" not in dict(place.episodes("chat")[0].request.headers)
    assert place.run("scrub", "chat").out == "cassettes/chat.yaml: 0 episodes scrubbed\n"


def test_one_episode_alone(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello Ada"), ("Ho", "Hello Ada")))
    Path("rules.yaml").write_text("settings:\n  scrub: [{regex: Ada, with: <name>}]\nrules: []\n")
    told = "cassettes/chat.yaml#2: answer body\ncassettes/chat.yaml: 1 episode scrubbed\n"
    assert place.run("scrub", "chat#2").out == told
    assert [b"Ada" in episode.reply.body for episode in place.episodes("chat")] == [True, False]
    assert place.run("scrub", "chat#3").err == "mockserver: cassettes/chat.yaml has 2 episodes; there is no #3\n"


def test_settings_of_any_rules_file_or_of_flags(place: Place) -> None:
    Path("other.yaml").write_text("settings: {cassettes: cassettes, scrub: [{regex: Ada}]}\nrules: []\n")
    for more in (("-r", "other.yaml"), ("--scrub", '{"regex": "Ada"}')):
        place.keep("chat", *chats(("Hi", "Hello Ada")))
        ran = place.run("scrub", "chat", *more)
        assert ran.out.endswith("1 episode scrubbed\n"), ran.err
        assert b"Ada" not in place.episodes("chat")[-1].reply.body
    ran = place.run("scrub", "chat", "-r", "none.yaml")
    assert (ran.code, ran.err.partition(": No")[0]) == (2, "mockserver: none.yaml: cannot be read")


def test_every_command_takes_rules_files(place: Place) -> None:
    for command in COMMANDS:
        assert "-r, --rules PATH" in place.run(command, "--help").out, command
