"""Each namespace plays a cassette of its own, if it is told so."""

from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.server.app import Site
from mockserver.server.compose import start
from mockserver.server.sources import Sources
from tests.kit.asgi import App
from tests.kit.cassette_folder import Folder, chat, episode, folder
from tests.kit.control import ControlledServer, rule

ONE = episode(chat("one"), '{"from":"one"}')
TWO = episode(chat("two"), '{"from":"two"}')


def server(held: Folder, **settings: Any) -> ControlledServer:
    live = start(Sources((), {"cassettes": str(held.path), **settings}, {}))
    return ControlledServer(App(Site(live)), live)


def put(running: ControlledServer, body: Any, namespace: str = "mine") -> Any:
    """What a namespace plays once it has been told."""
    answered = running.api(f"cassette?namespace={namespace}", body, method="PUT")
    assert answered.status == 200, answered.body
    return answered.json


def test_the_cassette_of_the_settings_is_everybodys() -> None:
    running = server(folder(chat=[ONE, TWO, episode(chat("three"), "", path="/nowhere")]), cassette="chat")
    shown = {"name": "chat", "record": "none", "own": False, "forwards": False, "episodes": 3}
    assert running.get("cassette") == {"namespace": "default", **shown, "unplayed": [1, 2, 3]}
    running.chat("two")
    running.chat("two")
    assert running.get("cassette")["unplayed"] == [1, 3]
    assert running.get("cassette?namespace=mine") == {"namespace": "mine", **shown, "unplayed": [1, 2, 3]}


def test_a_namespace_plays_its_own() -> None:
    running = server(folder(chat=[ONE], other=[TWO]), cassette="chat")
    told = put(running, {"name": "other"})
    assert told["own"] is True
    assert (told["name"], told["record"], told["episodes"]) == ("other", "none", 1)
    assert running.chat("two", namespace="mine").source == "cassette other.yaml#1"
    assert running.chat("one", namespace="mine").source == "unmatched"
    assert running.chat("one").source == "cassette chat.yaml#1"
    assert put(running, {"name": None})["name"] is None
    assert running.chat("one", namespace="mine").source == "generated"
    removed = running.api("cassette?namespace=mine", method="DELETE", headers={"x-mockserver-control": "1"})
    assert (removed.json["name"], removed.json["own"]) == ("chat", False)
    assert running.chat("one", namespace="mine").source == "cassette chat.yaml#1"


def test_what_is_recorded_is_said_with_it() -> None:
    running = server(folder(chat=[ONE]), upstream="openai=http://127.0.0.1:9")
    assert put(running, {"name": "new", "record": "once"})["forwards"] is True
    assert running.chat("one", namespace="mine").source == "forwarded"
    assert put(running, {"name": "chat", "record": "once"})["forwards"] is False
    assert running.chat("one", namespace="mine").source == "cassette chat.yaml#1"


def test_a_reload_reads_what_namespaces_play(tmp_path: Path) -> None:
    for name in ("chat", "other", "third"):
        CassetteFile(tmp_path / f"{name}.yaml").append(ONE)
    live = start(Sources((), {"cassettes": str(tmp_path)}, {}))
    running = ControlledServer(App(Site(live)), live)
    put(running, {"name": "chat"})
    put(running, {"name": "third"}, "gone")
    running.post("rules?namespace=mine", {"name": "a", "when": {"last_user": "two"}, "then": {"cassette": "other"}})
    (tmp_path / "other.yaml").write_text("hello\n")
    refused = running.api("reload", b"")
    assert (refused.status, "other.yaml:1:1: not a cassette" in refused.json["error"]) == (400, True)
    assert running.chat("one", namespace="mine").source == "cassette chat.yaml#1"
    (tmp_path / "other.yaml").unlink()
    (tmp_path / "third.yaml").unlink()
    running.post("reload")
    assert running.chat("one", namespace="mine").source == "cassette chat.yaml#1"
    assert 'there is no cassette "other"' in running.chat("two", namespace="mine").json["error"]["message"]
    assert 'there is no cassette "third"' in running.chat("one", namespace="gone").json["error"]["message"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, 'the body must be {"name": "..."}, the cassette to play, or null for none'),
        ({"name": 7}, 'the body must be {"name": "..."}, the cassette to play, or null for none'),
        ({"name": "chat", "record": "twice"}, '"record" must be one of none, once, new_episodes, all'),
        ({"name": "chat", "mode": "once"}, 'unknown key "mode"; this takes "name", "record"'),
        (
            {"name": "none"},
            'there is no cassette "none" in FOLDER; there are chat; to record it, set "record": "once"'
            " and --upstream DIALECT=URL",
        ),
    ],
)
def test_mistakes(body: Any, error: str) -> None:
    files = folder(chat=[ONE])
    error, running = error.replace("FOLDER", str(files.path)), server(files, cassette="chat")
    refused = running.api("cassette?namespace=mine", body, method="PUT")
    assert (refused.status, refused.json) == (400, {"error": error})  # said once
    assert running.get("cassette?namespace=mine")["own"] is False


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"name": "chat"}, '\nto record it, set "record": "new_episodes"'),
        ({"name": None, "record": "once"}, 'there is no cassette to record into; set "name": "NAME"'),
        ({"name": "new", "record": "once"}, "there is no upstream for openai; set --upstream openai=URL"),
    ],
)
def test_a_call_tells_what_to_set_where_the_cassette_was_chosen(chosen: dict[str, str | None], said: str) -> None:
    running = server(folder(chat=[ONE]))
    put(running, chosen)
    assert running.chat("two", namespace="mine").json["error"]["message"].endswith(said)


def test_explain_tells_what_the_miss_tells() -> None:
    running = server(folder(chat=[ONE, TWO, TWO]), cassette="chat")
    missed = running.chat("three")
    told = running.post("explain", {"call": 1})
    assert told["answered_by"] == "unmatched"
    assert told["why"] == missed.json["error"]["message"]
    assert told["text"].startswith(f"answered by: unmatched: {told['why']}")
    for _ in range(3):
        assert running.post("explain", {"body": chat("two")})["answered_by"] == "cassette chat.yaml#2"
    assert running.chat("two").source == "cassette chat.yaml#2"


def test_an_added_rule_must_name_a_cassette_that_is_there() -> None:
    running = server(folder(other=[TWO]))
    for body, error in (
        ({"name": "a", "then": {"cassette": "none"}}, 'rule "a": there is no cassette "none" in'),
        ({"name": "a", "then": {"steps": [{"cassette": "../up"}]}}, "'../up' is not a valid cassette name"),
    ):
        refused = running.api("rules?namespace=mine", {"rules": [rule("first", "1"), body]})
        assert refused.status == 400
        assert refused.json["error"].startswith(f"nothing was added: {error}")
    assert running.get("rules?namespace=mine")["rules"] == []
    running.post("rules?namespace=mine", {"name": "a", "then": {"cassette": "other"}})
    assert running.chat("two", namespace="mine").source == "cassette other.yaml#1"


def test_what_all_namespaces_have_played() -> None:
    running = server(folder(chat=[ONE, TWO]), cassette="chat")
    assert running.get("cassette?namespace=*") == {"played": {}}
    for text, namespace in (("one", "mine"), ("one", "yours"), ("two", ""), ("three", "")):
        running.chat(text, namespace=namespace)
    running.api("calls", method="DELETE", headers={"x-mockserver-control": "1"})
    assert running.get("cassette?namespace=*") == {"played": {"chat.yaml#1": 2, "chat.yaml#2": 1}}


def test_the_episodes_of_a_cassette() -> None:
    running = server(folder(chat=[ONE, TWO, episode(chat("three"), "", path="/nowhere")]), cassette="chat")
    running.chat("two")
    one, two = running.get("cassette/episodes")["episodes"]
    assert one == {
        "number": 1,
        "source": "cassette chat.yaml#1",
        "asked": "one",
        "status": 200,
        "frames": None,
        "played": 0,
    }
    assert (two["asked"], two["played"]) == ("two", 1)
    assert [each["number"] for each in running.get("cassette/episodes?after=1&limit=5")["episodes"]] == [2]
    assert [each["number"] for each in running.get("cassette/episodes?limit=1")["episodes"]] == [1]
    assert server(folder()).get("cassette/episodes") == {"episodes": []}
