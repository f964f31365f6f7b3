"""Where a request differs from a condition, and the request in a few lines."""

from typing import Any

import pytest

from mockserver.cassettes.redaction.shown_secrets import Secrets
from mockserver.core.call import Message, ToolCall
from mockserver.reports.diff import (
    describe_request,
    explain_conditions,
    explain_result,
    find_loosening,
    is_secret,
    sort_by_closeness,
)
from mockserver.rules.match.conditions import ConditionResult
from mockserver.rules.match.parse import compile_when
from tests.kit.calls import call, tool_result

LONG = "x" * 100
GOT = len('      got              "')


def findings(when: dict[str, Any], said: str = "How is the wether in Oslo?", **fields: Any) -> list[ConditionResult]:
    return list(compile_when(when, lambda message, path: pytest.fail(message)).explain(call(said, **fields)))


def told(when: dict[str, Any], said: str = "How is the wether in Oslo?", **fields: Any) -> str:
    return "\n".join(line for finding in findings(when, said, **fields) for line in explain_result(finding))


def marked(predicate: str, wanted: Any, said: str, **more: Any) -> str:
    """What stands above the carets; the empty text where there are none."""
    lines = told({"last_user": {predicate: wanted, **more}}, said).split("\n")
    if len(lines) < 3 or "^" not in lines[2]:
        return "-"
    return "".join(letter for letter, mark in zip(lines[1], f"{lines[2]:<200}", strict=False) if mark == "^")


@pytest.mark.parametrize(
    ("predicate", "wanted", "said", "differs"),
    [
        ("equals", "weather in Oslo", "weather in Rome", "Rome"),
        ("equals", "gpt-4o", "gpt-4o-mini", "-mini"),
        ("equals", "hello you", "hello", '"'),  # the rest is missing: the caret stands behind the text
        ("equals", "hello", "Wie geht's?", "-"),
        ("equals", LONG + "a" + LONG, LONG + "b" + LONG, "b"),
        ("equals", "a\tbcd", "a\tbxd", "x"),
        ("starts_with", "What is", "What was it?", "w"),
        ("starts_with", "What is", "Who?", "-"),
        ("ends_with", "in Oslo?", "in Rome, not in Oslo", "-"),
        ("ends_with", "in Oslo?", "now un Oslo?", "u"),
        ("glob", "*weather in Oslo*", "How is the wether in Oslo?", "t"),
        ("glob", "How * Oslo?", "How is it in Oslo", '"'),
        ("glob", "How are*", "How is it", "i"),
        ("glob", "*in Oslo now", "in Bergen now", " "),
        ("contains", "the weather", "is the whether good", "h"),
        ("contains", ["good", "the weather"], "is the whether good", "h"),
        ("contains", "weather", "rain", "-"),
        ("regex", "weather", "wether", "-"),
        ("in", ["weather", "snow"], "wether", "-"),
    ],
)
def test_a_caret_stands_under_what_differs(predicate: str, wanted: Any, said: str, differs: str) -> None:
    assert marked(predicate, wanted, said)[:1] == differs[:1]


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        ("\u0e17\u0e35\u0e48a", 2),  # two marks on a letter of Thai
        ("e\u0301a", 2),
        ("\u2764\ufe0fa", 3),  # a heart as an emoji
        ("\U0001f389ab", 4),
    ],
)
def test_marks_take_no_column(said: str, columns: int) -> None:
    *_, carets = told({"last_user": said + "b"}, said + "c").split("\n")
    assert carets == " " * (GOT + columns) + "^"


@pytest.mark.parametrize(
    ("condition", "said", "more"),
    [
        ({"starts_with": "how is"}, "How is it?", ("ignore_case",)),
        ("hello you", "hello  you ", ("ignore_space",)),
        ("Hello you", "hello  you", ("ignore_case", "ignore_space")),
        ({"equals": "HELLO you", "ignore_case": True}, "hello  you", ("ignore_space",)),
        ({"regex": "HELLO"}, "hello", ()),
        ("hello", "bye", ()),
        ({"starts_with": "X"}, LONG * 2_000, ()),  # too long to be looked at again
        ({"exists": False}, "bye", ()),
    ],
)
def test_what_has_to_be_ignored(condition: Any, said: str, more: tuple[str, ...]) -> None:
    [finding] = findings({"last_user": condition}, said)
    assert find_loosening(finding) == more
    hint = " and ".join(f"{name}: true" for name in more)
    assert list(explain_result(finding))[-1].endswith(f"it would match with {hint}") is bool(more)


@pytest.mark.parametrize(
    ("when", "end"),
    [
        ({"tools": "a"}, 'got ["b", "c"]; missing "a"'),
        ({"tools": {"includes": ["a", "b", "d*"]}}, 'got ["b", "c"]; missing "a", "d*"'),
        ({"tools": ["b"]}, 'got ["b", "c"]; unexpected "c"'),
        ({"tools": ["a", "b"]}, 'got ["b", "c"]; missing "a", unexpected "c"'),
        ({"tools": ["c", "b"]}, 'got ["b", "c"]; in a different order'),
        ({"tools": ["b", "b", "c"]}, 'got ["b", "c"]; with duplicates'),
        ({"tools": {"length": 3}}, 'got ["b", "c"]; its length is 2'),
        ({"turn": 3}, "got 0"),
        ({"header.x": "1"}, "got nothing"),
        ({"param.list": {"subset": [1, 4]}}, "got [1, 2]; missing 4"),
    ],
)
def test_lists_and_plain_values(when: dict[str, Any], end: str) -> None:
    assert told(when, tools=("b", "c"), raw={"list": [1, 2]}).endswith(end)


@pytest.mark.parametrize(
    ("predicate", "wanted", "parts"),
    [
        ("equals", {"a": {"b": 1, "c": [1, {"d": 2}]}}, ["a.c[1].d is 3, not 2", "unexpected a.e", "unexpected f"]),
        ("subset", {"a": {"b": 2}, "g": 1}, ["a.b is 1, not 2", "missing g"]),
        ("subset", {"a": {"c": [7]}}, ['a.c is [1, {"d": 3}], not [7]']),
        ("equals", {"f": 1, **dict.fromkeys("pqrst")}, [*(f"missing {name}" for name in "pqr"), "... and 3 more"]),
    ],
)
def test_the_path_of_what_differs(predicate: str, wanted: Any, parts: list[str]) -> None:
    actual = {"a": {"b": 1, "c": [1, {"d": 3}], "e": 0}, "f": None}
    lines = told({"param.x": {predicate: wanted}}, raw={"x": actual}).split("\n")[1:]
    assert set(parts) <= {line.strip() for line in lines}


NONE = Secrets()
SECRET = Secrets(("top-secret-thing",))


def test_a_conversation() -> None:
    picture = Message("user", "", ({"type": "image_url"},))
    assert list(describe_request(call(*tool_result("Sunny.\n"), picture), NONE))[1:] == [
        '  user: "weather?"',
        "  assistant calls get_weather({})",
        '  tool: "Sunny.\\n"',
        "  user: image_url",
    ]
    assert list(describe_request(call(*tool_result("Sunny.")), NONE))[-1] == '  tool get_weather: "Sunny."'


def test_no_credential_is_told() -> None:
    used = Message("assistant", tool_calls=(ToolCall("1", "f", "top-secret-thing"),))
    every = "\n".join(describe_request(call("top-secret-thing", used, model="top-secret-thing"), SECRET))
    assert "secret" not in every
    found = [ConditionResult("conversation", "equals", ["top-secret-thing"], {"x": "top-secret-thing"}, ok=False)]
    found += [ConditionResult(name, "equals", "hidden", "hidden-2", ok=False) for name in ("key", "header.x-api-key")]
    assert [is_secret(one) for one in found] == [False, True, True]
    told = "\n".join(explain_conditions(found, SECRET))
    assert "secret" not in told
    assert "hidden" not in told


def test_the_nearest_come_first() -> None:
    def miss(said: str) -> ConditionResult:
        return ConditionResult("last_user", "equals", "weather", said, ok=False)

    found = {"far": [miss("x")], "near": [miss("wether")], "two": [miss("weathr"), miss("weathr")]}
    assert [name for name, _ in sort_by_closeness(found.items())] == ["near", "far", "two"]
