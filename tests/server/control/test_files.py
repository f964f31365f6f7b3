"""The rules with their lines in the files, and rules that are saved there."""

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mockserver.server.control.rules import read_rules_file
from tests.kit.control import ControlledServer, controlled_server, rule

RULES = """\
# my rules
settings: {keys: [sk-my-own-key-1]}
rules:
  - name: weather   # the first
    when: {last_user: "*weather*"}

    then:
      text: |
        Sunny
          - no item

  # about orders
  - name: order
    when: {last_user: "*order*"}
    times: 2
    then: {error: 503}
  - {name: all, when: {last_user: "*order*"}, then: {text: It has left.}}
  - name: never
    when: {last_user: "*order*", model: gpt-4o}
    then: {text: x}
version: 1
"""
KEY = {"authorization": "Bearer sk-my-own-key-1"}


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES, inspector_writes=True)


def rules(server: ControlledServer, query: str = "") -> dict[str, Any]:
    return {each["name"]: each for each in server.get(f"rules{query}")["rules"]}


def test_where_rules_are_and_how_they_are_written(server: ControlledServer, tmp_path: Path) -> None:
    file, shown = tmp_path / "rules.yaml", rules(server)
    hashed = sha256(file.read_bytes()).hexdigest()
    assert shown["weather"]["where"] == {"file": str(file), "line": 4, "end": 10, "sha256": hashed}
    assert shown["weather"]["text"] == (
        '- name: weather   # the first\n  when: {last_user: "*weather*"}\n\n  then:\n    text: |\n      Sunny\n'
        "        - no item\n"
    )
    assert (shown["order"]["where"]["line"], shown["order"]["where"]["end"]) == (13, 16)
    assert shown["all"]["text"] == '- {name: all, when: {last_user: "*order*"}, then: {text: It has left.}}\n'
    assert shown["never"]["remarks"] == [f'never answers: the earlier rule "all" ({file}:17) matches whenever it does']
    assert shown["weather"]["remarks"] == []


def test_the_last_call_of_a_rule(server: ControlledServer) -> None:
    for text in ("weather", "weather", "else"):
        server.app.ask(
            "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": text}]}, headers=KEY
        )
    shown = rules(server)
    assert (shown["weather"]["last_call"], shown["order"]["last_call"]) == (2, None)


def test_pages_of_rules(server: ControlledServer) -> None:
    server.post("rules", rule("mine", "x"))
    assert list(rules(server, "?limit=2")) == ["mine", "weather"]
    found = rules(server, "?limit=2&after=2")
    assert list(found) == ["order", "all"]
    assert not any(each["added"] for each in found.values())
    assert "text" not in rules(server, "?limit=1")["mine"]


def test_a_file_that_changed_shows_nothing_else(server: ControlledServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.replace("# my rules\n", ""))
    shown = rules(server)
    assert "text" not in shown["weather"]
    assert shown["weather"]["where"] == {"file": str(file), "line": 4}
    file.write_text("{")
    assert "text" not in rules(server)["order"]
    file.unlink()
    assert rules(server)["order"]["where"]["line"] == 13


def put(server: ControlledServer, first: Any, last: Any, text: Any, **more: Any) -> Any:
    data = server.live.sources.files[0].read_bytes()
    body = {"from": first, "to": last, "text": text, "sha256": sha256(data).hexdigest(), **more}
    return server.api("files/0", body, method="PUT")


NEW = "- name: order\n  when: {last_user: bill}\n  then: {text: Paid}\n"


def test_a_rule_is_replaced_and_all_else_stays(server: ControlledServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.chmod(0o640)
    got = put(server, 13, 16, NEW)
    after = file.read_text()
    assert (got.status, got.json["from"], got.json["to"]) == (200, 13, 15), got.json
    assert got.json["sha256"] == sha256(after.encode()).hexdigest()
    lines = RULES.splitlines()
    assert after.splitlines() == [*lines[:12], *(f"  {line}" for line in NEW.splitlines()), *lines[16:]]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["rules.yaml"]
    assert rules(server)["order"]["spec"]["when"] == {"last_user": "bill"}  # it was read again


def test_a_rule_is_put_in(server: ControlledServer, tmp_path: Path) -> None:
    assert put(server, 13, 12, NEW.replace("order", "bill")).status == 200
    assert list(rules(server)) == ["weather", "bill", "order", "all", "never"]
    assert put(server, 24, 23, NEW.replace("order", "last")).status == 200
    assert list(rules(server))[-1] == "last"


def test_texts_with_tabs_and_marks_of_comments_stay_whole(server: ControlledServer, tmp_path: Path) -> None:
    text = "- name: order\n  then:\n    text: |\n      a\tb\n      # no comment\n"
    got = put(server, 13, 16, text)
    assert (got.json["from"], got.json["to"], rules(server)["order"]["text"]) == (13, 17, text)
    assert rules(server)["order"]["spec"]["then"] == {"text": "a\tb\n# no comment\n"}


def test_line_ends_stay(server: ControlledServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_bytes(RULES.replace("\n", "\r\n").encode())
    server.post("reload")
    assert put(server, 13, 16, NEW).status == 200
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n") == 20


def test_mixed_line_ends_stay(server: ControlledServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    head, rest = RULES.encode().split(b"\n", 1)
    file.write_bytes(head + b"\r\n" + rest.rstrip(b"\n"))
    server.post("reload")
    assert put(server, 13, 16, NEW).status == 200
    lines = file.read_bytes().splitlines(keepends=True)
    assert [line.endswith(b"\r\n") for line in lines] == [True] + [False] * (len(lines) - 1)
    assert lines[:12] == [head + b"\r\n", *rest.splitlines(keepends=True)[:11]]


@pytest.mark.parametrize(
    ("lines", "text", "status", "error"),
    [
        ((13, 15), NEW, 409, "lines 13 to 15 are neither one whole rule nor the gap between two rules"),
        ((2, 2), NEW, 409, "lines 2 to 2 are neither"),
        ((1, 22), "version: 1", 409, "lines 1 to 22 are neither"),
        ((13, 16), NEW + NEW.replace("order", "more"), 409, "the text would change more than one rule of"),
        ((13, 16), NEW + "\nsettings: {}\n", 400, "nothing was saved: "),
        ((13, 16), "name: x", 400, '"text" must be one item of `rules`: - name: ...'),
        ((13, 16), "- {when: {last_user: {contain: x}}, then: {text: a}}", 400, "nothing was saved: "),
        ((13, 16), "- {name: weather, then: {text: a}}", 400, "nothing was saved: "),
        ((13, 16), "- {name: x, then: {cassette: none}}", 400, "nothing was saved: "),
        (
            (13, 16),
            "- {name: x, then: {text: " + "a" * 1_000_000 + "}}",
            409,
            "FILE would be larger than 1000000 bytes",
        ),
        (("13", 16), NEW, 400, 'the body must be {"from": 5,'),
        ((13, 16), 5, 400, 'the body must be {"from": 5,'),
    ],
)
def test_what_is_refused_changes_nothing(
    server: ControlledServer, tmp_path: Path, lines: Any, text: Any, status: int, error: str
) -> None:
    file = tmp_path / "rules.yaml"
    got = put(server, *lines, text)
    error = error.replace("FILE", str(file))
    assert (got.status, got.json["error"][: len(error)]) == (status, error)
    assert (file.read_text(), os.listdir(tmp_path)) == (RULES, ["rules.yaml"])


def test_a_file_that_changed_meanwhile(server: ControlledServer, tmp_path: Path) -> None:
    got = put(server, 13, 16, NEW, sha256="0" * 64)
    assert (got.status, got.json["error"]) == (
        409,
        f"{tmp_path / 'rules.yaml'} has changed in the meantime; read the rules again",
    )


def test_only_the_first_file_and_no_link(server: ControlledServer, tmp_path: Path) -> None:
    assert server.api("files/1", {"from": 1}, method="PUT").status == 404
    assert server.api("files/../rules.yaml", {"from": 1}, method="PUT").status == 404
    (tmp_path / "rules.yaml").rename(tmp_path / "real.yaml")
    (tmp_path / "rules.yaml").symlink_to(tmp_path / "real.yaml")
    got = put(server, 13, 16, NEW)
    assert (got.status, got.json["error"]) == (409, f"{tmp_path / 'rules.yaml'} is a link, or not a regular file")


def test_nothing_is_written_unless_it_is_allowed(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, RULES)
    got = put(server, 13, 16, NEW)
    assert (got.status, "inspector_writes" in got.json["error"]) == (403, True)
    assert server.get("ready")["writes"] is False
    assert (tmp_path / "rules.yaml").read_text() == RULES


# --- ready, explain and episodes


def test_ready_says_more_to_those_who_have_the_token(tmp_path: Path) -> None:
    server = controlled_server(
        tmp_path, RULES, seed=7, timing={"first_token": "10ms"}, upstream={"openai": "http://x/"}
    )
    ready = server.get("ready")
    shown = {"seed": 7, "timing": ready["settings"]["timing"], "upstream": {"openai": "http://x"}, "keys": 1}
    assert ready["settings"] == shown
    assert "sk-my-own-key" not in str(ready)
    assert ready["bases"][0] == {"dialect": "openai", "url": "http://127.0.0.1:8000/v1"}
    assert {"dialect": "azure", "url": "http://127.0.0.1:8000/azure"} in ready["bases"]
    assert (ready["journal"]["calls"], ready["journal"]["room"], ready["problem"]) == (0, 50_000_000, None)
    (tmp_path / "rules.yaml").write_text("rules: 3")
    server.api("reload", b"")
    assert server.get("ready")["problem"]["mistakes"][0]["line"] == 1
    boot = server.get("ready")["boot"]
    assert (len(boot) > 10, server.get("ready")["boot"]) == (True, boot)
    guarded = controlled_server(tmp_path / "..", "", host="0.0.0.0", control_token="open-sesame-1234")
    assert "settings" not in guarded.get("ready")
    token = {"authorization": "Bearer open-sesame-1234"}
    assert "settings" in guarded.api("ready", headers=token).json


def test_the_nearest_rules_are_explained_first(server: ControlledServer) -> None:
    request = {"path": "/v1/chat/completions", "headers": KEY}
    body = {"model": "m", "messages": [{"role": "user", "content": "my order"}]}
    server.app.ask(request["path"], body, headers=KEY)
    found = server.post("explain", {"call": 1, "limit": 2})
    assert [each["name"] for each in found["rules"]] == ["order", "all"]
    assert len(server.post("explain", {"call": 1})["rules"]) == 4
    for limit in (0, "x", True):
        assert server.api("explain", {"call": 1, "limit": limit}).status == 400


def test_a_file_is_parsed_once(server: ControlledServer) -> None:
    rules(server)
    parsed = read_rules_file.cache_info().misses
    assert rules(server)["order"]["where"]["end"] == 16
    assert read_rules_file.cache_info().misses == parsed
