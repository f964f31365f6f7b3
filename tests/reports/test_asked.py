"""What a call asked, in a few lines."""

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.core.call import Message, ToolCall
from mockserver.core.exchange import ConditionResult
from mockserver.reports.diff import asked, findings, is_secret, ranked
from tests.kit.calls import call, told

NONE = Secrets()
SECRET = Secrets(("top-secret-thing",))


def test_who_is_asked_for_what() -> None:
    what = call("x", tools=tuple("abcdefg"), stream=True, response_format="json_object", previous="resp_1")
    assert next(asked(what, NONE)) == (
        "openai chat gpt-4o, streamed, tools a, b, c, d, e and 2 more, json_object, goes on from resp_1"
    )


def test_a_conversation() -> None:
    picture = Message("user", "", ({"type": "image_url"},))
    assert list(asked(call(*told("Sunny.\n"), picture), NONE))[1:] == [
        '  user: "weather?"',
        "  assistant calls get_weather({})",
        '  tool: "Sunny.\\n"',
        "  user: image_url",
    ]
    assert list(asked(call(*told("Sunny.")), NONE))[-1] == '  tool get_weather: "Sunny."'


def test_a_long_one_is_cut() -> None:
    lines = list(asked(call(*map(str, range(30))), NONE))
    assert lines[1:3] == ['  user: "0"', "  ... 25 more messages"]
    assert lines[-1] == '  user: "29"'
    used = Message("assistant", tool_calls=(ToolCall("1", "f", "x" * 9_999),) * 9)
    assert sum(map(len, asked(call(used), NONE))) < 1_000
    assert len(next(asked(call(model="x" * 9_999, previous="y" * 9_999), NONE))) < 200


def test_no_credential_is_told() -> None:
    used = Message("assistant", tool_calls=(ToolCall("1", "f", "top-secret-thing"),))
    every = "\n".join(asked(call("top-secret-thing", used, model="top-secret-thing"), SECRET))
    assert "secret" not in every
    found = [ConditionResult("conversation", "equals", ["top-secret-thing"], {"x": "top-secret-thing"}, ok=False)]
    found += [ConditionResult(name, "equals", "hidden", "hidden-2", ok=False) for name in ("key", "header.x-api-key")]
    assert [is_secret(one) for one in found] == [False, True, True]
    told = "\n".join(findings(found, SECRET))
    assert "secret" not in told
    assert "hidden" not in told


def test_of_many_findings_the_misses_come_first() -> None:
    found = [ConditionResult("model", "equals", "a", "a", ok=True)] * 20 + [
        ConditionResult("turn", "equals", 1, 2, ok=False)
    ]
    lines = list(findings(found, NONE))
    assert (len(lines), lines[0], lines[-1]) == (13, "MISS  turn equals 1: got 2", "... and 9 more")


def test_the_nearest_come_first() -> None:
    def miss(said: str) -> ConditionResult:
        return ConditionResult("last_user", "equals", "weather", said, ok=False)

    found = {"far": [miss("x")], "near": [miss("wether")], "two": [miss("weathr"), miss("weathr")]}
    assert [name for name, _ in ranked(found.items())] == ["near", "far", "two"]
