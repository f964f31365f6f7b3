"""`mockserver cassette export`: HAR that `import` takes back."""

import json
from pathlib import Path

from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats


def test_there_and_back(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    ran = place.run("export", "chat", "-o", "chat.har")
    assert (ran.code, ran.out, ran.err) == (0, "", "chat.har: 2 episodes\n")
    assert place.run("import", "chat.har", "--into", "again").code == 0
    assert place.episodes("again") == place.episodes("chat")
    assert place.run("export", "chat", "-o", "chat.har").err == (
        "mockserver: chat.har already exists; use --force to overwrite it\n"
    )
    assert place.run("export", "chat", "-o", "none/chat.har").err.startswith(
        "mockserver: none/chat.har: cannot be written"
    )


def test_one_episode_to_the_upstream_of_the_settings(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    Path("rules.yaml").write_text("settings: {upstream: {openai: https://gateway.corp/v1}}\nrules: []\n")
    (entry,) = json.loads(place.run("export", "chat#2").out)["log"]["entries"]
    assert entry["request"]["url"] == "https://gateway.corp/v1/chat/completions"
