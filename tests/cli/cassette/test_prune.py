"""`mockserver cassette prune`: what goes is told, and nothing else goes."""

import json
from pathlib import Path

from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats

FOUR = chats(("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"))


def left(place: Place) -> list[int]:
    return [FOUR.index(episode) + 1 for episode in place.episodes("chat")]


def test_numbers(place: Place) -> None:
    place.keep("chat", *FOUR)
    dry = place.run("prune", "chat", "--number", 2, "--number", 4, "--dry-run")
    assert (dry.out.splitlines()[-1], left(place)) == (
        "cassettes/chat.yaml: 2 episodes would be removed, 2 left",
        [1, 2, 3, 4],
    )
    ran = place.run("prune", "chat", "--number", 2, "--number", 4)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "chat.yaml#2  openai chat gpt-4o -> 200: 2\n"
        "chat.yaml#4  openai chat gpt-4o -> 200: 4\n"
        "cassettes/chat.yaml: 2 episodes removed, 2 left\n"
    )
    assert left(place) == [1, 3]
    assert place.run("prune", "chat", "--number", 3).err == (
        "mockserver: cassettes/chat.yaml has 2 episodes; there is no #3\n"
    )


def test_numbers_from_one_to_another(place: Place) -> None:
    place.keep("chat", *FOUR)
    for wrong in ("3-2", "0", "a", "1-", "1,2"):
        said = f"mockserver: Invalid value for '--number': \"{wrong}\" is not an episode number; write 3, or 2-5\n"
        assert place.run("prune", "chat", "--number", wrong).err == said
    assert place.run("prune", "chat", "--number", "2-3").code == 0
    assert left(place) == [1, 4]


def test_age_and_use(place: Place) -> None:
    place.keep("chat", *FOUR)
    assert place.run("prune", "chat", "--older", "30000w").out.endswith("0 episodes removed, 4 left\n")
    Path("calls.json").write_text(json.dumps({"calls": [{"source": "cassette chat.yaml#3"}]}))
    assert place.run("prune", "chat", "--unplayed", "calls.json").out.endswith("3 episodes removed, 1 left\n")
    assert left(place) == [3]
    assert place.run("prune", "chat", "--older", "1d").out.endswith("1 episode removed, 0 left\n")
    assert place.episodes("chat") == ()


def test_an_episode_by_its_number_behind_the_name(place: Place) -> None:
    place.keep("chat", *FOUR)
    assert place.run("prune", "chat#9").err == "mockserver: cassettes/chat.yaml has 4 episodes; there is no #9\n"
    both = place.run("prune", "chat#2", "--older", "1d")
    assert (both.code, both.err) == (
        2,
        "mockserver: chat#2 selects one episode already; leave out --older and --unplayed, or the number\n",
    )
    assert place.run("prune", "chat#2").code == 0
    assert left(place) == [1, 3, 4]
