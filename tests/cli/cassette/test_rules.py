"""`mockserver cassette rules`: a file that `check` takes and that answers."""

from pathlib import Path

from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chat, chats, episode
from tests.kit.local import local
from tests.kit.program import run


def test_rules_for_a_file(place: Place) -> None:
    cities = [chat(f"Weather in {city}?", {"text": f"It rains in {city}."}) for city in ("Oslo", "Rome")]
    vectors = episode(local(), "/openai/v1/embeddings", {"model": "m", "input": "a"})
    place.keep("chat", *cities, vectors, *chats(("Hi", "Hello"), stream=True))
    ran = place.run("rules", "chat", "-o", "made.yaml")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == (
        "skipped chat.yaml#3: embeddings cannot become a rule; keep the cassette\nmade.yaml: 2 rules from 3 episodes\n"
    )
    assert Path("made.yaml").stat().st_mode & 0o777 == 0o600
    assert run("check", "made.yaml").out == "made.yaml: 2 rules, no mistakes, 0 remarks\n"
    assert run("ask", "Hi", "-r", "made.yaml").out == "Hello\n"
    assert run("ask", "Weather in Bern?", "-r", "made.yaml").out == "It rains in Bern.\n"
    assert run("ask", "Weather in Bern?", "-r", "made.yaml").err == "(rule made.yaml:9 chat.yaml#1, chat.yaml#2)\n"
    again = place.run("rules", "chat", "-o", "made.yaml")
    assert (again.code, again.err.splitlines()[-1]) == (
        2,
        "mockserver: made.yaml already exists; use --force to overwrite it",
    )
    assert place.run("rules", "chat", "-o", "made.yaml", "--force").code == 0


def test_rules_for_one_episode_on_standard_output(place: Place) -> None:
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    assert place.run("rules", "chat#2").out == (
        "version: 1\n"
        "rules:\n"
        "  - name: chat.yaml#2\n"
        "    when:\n"
        "      operation: chat\n"
        "      last_user: Ho\n"
        "    then:\n"
        "      text: Hullo\n"
    )


def test_what_no_server_takes_is_left_out(place: Place) -> None:
    odd = chat("a", {"raw": {"body": {"choices": [{"message": {"tool_calls": [{"function": {"name": "{{"}}]}}]}}})
    place.keep("chat", odd, *chats(("Hi", "Hello")))
    ran = place.run("rules", "chat")
    assert ran.err == "skipped chat.yaml#1: templates are not supported here: this is sent unchanged\n"
    assert "chat.yaml#2" in ran.out


def test_no_rule_at_all(place: Place) -> None:
    place.keep("chat", episode(local(), "/openai/v1/embeddings", {"model": "m", "input": "a"}))
    ran = place.run("rules", "chat")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("mockserver: no episode of chat can become a rule\n")
