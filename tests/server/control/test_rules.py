"""Rules that come and go while the server runs."""

from pathlib import Path
from typing import Any

import pytest

from mockserver.server.control import rules as control_rules
from tests.kit.control import ControlledServer, controlled_server, rule

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: from the file}}
"""


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES)


def said(server: ControlledServer, text: str = "hi", **more: Any) -> str:
    found: str = server.chat(text, **more).json["choices"][0]["message"]["content"]
    return found


def names(server: ControlledServer, query: str = "") -> list[str]:
    return [listed["name"] for listed in server.get("rules" + query)["rules"]]


def test_added_rules_come_before_the_files_and_the_last_batch_first(server: ControlledServer) -> None:
    assert server.post("rules", rule("mine", "from here")) == {"names": ["mine"], "rules": 2}
    assert (said(server), server.chat("hi").source) == ("from here", "rule api mine")
    server.post("rules", {"version": 1, "rules": [rule("c", "c", when={"last_user": "c"}), rule("d", "d")]})
    assert names(server) == ["c", "d", "mine", "hi"]
    assert [said(server, text) for text in ("c", "hi")] == ["c", "d"]


def test_a_namespace_has_its_own(server: ControlledServer) -> None:
    server.post("rules?namespace=mine", rule("mine", "only here"))
    assert said(server, namespace="mine") == "only here"
    assert [said(server, namespace="yours"), said(server)] == ["from the file"] * 2
    assert (names(server, "?namespace=mine"), names(server)) == (["mine", "hi"], ["hi"])


def test_remembered_answers_give_way(server: ControlledServer) -> None:
    before = [said(server) for _ in range(3)]
    server.post("rules", rule("mine", "new"))
    between = [said(server) for _ in range(3)]
    server.api("rules/mine", method="DELETE")
    assert (before, between, said(server)) == (["from the file"] * 3, ["new"] * 3, "from the file")


def test_added_rules_count(server: ControlledServer) -> None:
    again = rule("again", "slow down", when={"attempt": {"lt": 3}, "last_user": "x"})
    server.post("rules", {"rules": [again, rule("ask", "who?", state={"is": "start", "becomes": "asked"})]})
    assert [said(server, "x") for _ in range(3)] == ["slow down", "slow down", "who?"]
    assert server.get("state")["namespaces"][0]["state"] == "asked"
    assert [listed["counts"] for listed in server.get("rules")["rules"]] == [True, True, False]


def test_rules_are_listed_with_what_they_did(server: ControlledServer, tmp_path: Path) -> None:
    server.post("rules", rule("twice", "x", times=2))
    for _ in range(3):
        server.chat("hi")
    shown = server.get("rules")["rules"]
    added, _ = [(each.pop("last_call"), each.pop("remarks"), each.pop("where", None)) for each in shown]
    assert added == (2, [], None)
    assert shown[1].pop("text").strip().startswith("- {name: hi")
    assert shown == [
        {
            "name": "twice",
            "source": "rule api twice",
            "added": True,
            "hits": 2,
            "counts": True,
            "spec": {"name": "twice", "then": {"text": "x"}, "times": 2},
        },
        {
            "name": "hi",
            "source": f"rule {tmp_path}/rules.yaml:3 hi",
            "added": False,
            "hits": 1,
            "counts": False,
            "spec": {"name": "hi", "when": {"last_user": "hi"}, "then": {"text": "from the file"}},
        },
    ]


YAML = {"content-type": "application/yaml"}


def test_rules_without_a_name_get_one_also_in_yaml(server: ControlledServer) -> None:
    body = b"rules:\n  - &one\n    then: {text: from yaml}\n  - name: b\n    then: {text: b}\n  - *one\n"
    got = server.api("rules", body, headers=YAML)
    assert (got.status, got.json["names"], said(server)) == (201, ["added 1", "b", "added 2"], "from yaml")
    assert server.api("rules", b"then: {text: one}", headers=YAML).json["names"] == ["added 3"]
    assert server.post("rules", {"then": {"text": "\U0001f600 \u2028"}})["names"] == ["added 4"]
    assert (server.chat("hi").source, said(server)) == ("rule api added 4", "\U0001f600 \u2028")


@pytest.mark.parametrize(
    ("body", "mistakes"),
    [
        ({"then": {"txt": "a"}}, ['rules[0].then.txt: unknown key "txt"; did you mean "text"?']),
        ({"name": "a", "thn": {}}, ['rules[0].thn: unknown key "thn"; did you mean "then"?']),
        (
            {"rules": [{"then": {"text": "a"}}, {"when": {"last_usr": "x"}, "then": {"text": "{{ nope"}}]},
            ['rules[1].when.last_usr: unknown field "last_usr"; did you mean "last_user"?', "rules[1].then.text: "],
        ),
        ([], ['the body: a rules file must be a table; put this list under "rules:"']),
        ({"rules": [1]}, ["rules[0]: "]),
        (
            {"rules": [rule("a", "a"), rule("a", "b")]},
            ['rules[1].name: the name "a" is already used at rules[0].name'],
        ),
        ({"when": {"model": "m"}}, ["rules[0]: "]),
    ],
)
def test_all_mistakes_are_told_with_their_places(server: ControlledServer, body: Any, mistakes: list[str]) -> None:
    got = server.api("rules", body)
    assert got.status == 400
    told = got.json["mistakes"]
    assert [line[: len(start)] for line, start in zip(told, mistakes, strict=True)] == mistakes
    assert got.json["error"].startswith(f"nothing was added: {told[0]}")
    assert names(server) == ["hi"]


def test_mistakes_in_yaml_stand_at_their_lines(server: ControlledServer) -> None:
    got = server.api("rules", b"rules:\n  - then: {txt: a}\n", headers=YAML)
    assert got.json["mistakes"] == ['api:2:12: unknown key "txt"; did you mean "text"?  [- then: {txt: a}]']
    assert server.api("rules", b"rules: [", headers=YAML).json["mistakes"][0].startswith("api:1:")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        *((body, "there is no rule in the body; send") for body in ({}, {"rules": []}, {"version": 1})),
        (
            {"settings": {"seed": 3}, "rules": [rule("a", "a")]},
            'settings belong in a file or in flags; take "settings" out of the body',
        ),
    ],
)
def test_bodies_without_rules(server: ControlledServer, body: Any, error: str) -> None:
    got = server.api("rules", body)
    assert (got.status, got.json["error"][: len(error)]) == (400, error)


def test_names_are_unique_unless_they_are_to_be_replaced(server: ControlledServer, tmp_path: Path) -> None:
    server.post("rules", {"rules": [rule("a", "old"), rule("b", "b")]})
    got = server.api("rules", rule("a", "new"))
    assert (got.status, got.json["mistakes"]) == (
        409,
        ['the name "a" is already used by a rule that was added; use ?replace=true to replace it'],
    )
    assert said(server) == "old"
    server.post("rules?replace=true", rule("a", "new"))
    assert (said(server), names(server)) == ("new", ["a", "b", "hi"])
    got = server.api("rules?replace=true", rule("hi", "new"))
    assert got.json["mistakes"] == [f'the name "hi" is already used at {tmp_path}/rules.yaml:3']


def test_a_rule_that_is_added_again_starts_over(server: ControlledServer) -> None:
    failing = rule("fails", "x", when={"last_user": "x"})
    failing["then"]["faults"] = [{"empty_body": {"times": 1}}]
    for query in ("", "?replace=true"):
        server.post("rules" + query, {"rules": [failing, rule("once", "once", times=1)]})
        assert [said(server), said(server)] == ["once", "from the file"]
        assert [server.chat("x").body == b"" for _ in range(2)] == [True, False]
        assert [listed["hits"] for listed in server.get("rules")["rules"]][:2] == [2, 1]
    server.api("rules/once", method="DELETE")
    server.post("rules", rule("once", "once", times=1))
    assert said(server) == "once"


def test_rules_are_removed_one_by_one_or_together(server: ControlledServer) -> None:
    server.post("rules", {"rules": [rule("a/b c", "1"), rule("b", "2"), rule("c", "3")]})
    assert server.api("rules/a%2Fb%20c", method="DELETE").json == {"removed": ["a/b c"]}
    assert (said(server), server.api("rules", method="DELETE").json) == ("2", {"removed": ["b", "c"]})
    assert (said(server), names(server)) == ("from the file", ["hi"])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("hi", "rules.yaml:3; only rules that were added can be removed"),
        ("mime", 'there is no added rule "mime"; did you mean "mine"?'),
        ("zzz", 'there is no added rule "zzz"'),
    ],
)
def test_what_cannot_be_removed_is_told(server: ControlledServer, name: str, error: str) -> None:
    server.post("rules", rule("mine", "x"))
    got = server.api(f"rules/{name}", method="DELETE")
    assert (got.status, got.json["error"].endswith(error)) == (404, True), got.json


def test_added_rules_outlive_a_reload(server: ControlledServer, tmp_path: Path) -> None:
    server.post("rules", rule("mine", "mine", when={"last_user": "mine"}))
    (tmp_path / "rules.yaml").write_text("rules: [{name: other, then: {text: reloaded}}]")
    assert server.post("reload") == {"rules": 1, "at_next_start": []}
    assert names(server) == ["mine", "other"]
    assert [said(server, text) for text in ("mine", "hi")] == ["mine", "reloaded"]


def test_there_is_room_for_many_but_not_for_any_number(
    server: ControlledServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_rules, "MAX_RULES", 2)
    server.post("rules", rule("a", "a"))
    got = server.api("rules", {"rules": [rule("b", "b"), rule("c", "c")]})
    assert (got.status, got.json["error"].startswith("a namespace has at most 2 rules of its own")) == (409, True)
    server.post("rules", rule("b", "b"))
    assert names(server) == ["b", "a", "hi"]
