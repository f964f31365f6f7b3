"""What a program is put through: names and tables of faults, their positions, errors."""

from typing import Any

import pytest

from mockserver.config.errors import MockserverError, Place
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.testing.fault_matrix import USUAL, Choice, Probe

HERE = Place("test_app.py", 7, 1)


def probes(*faults: Any, **options: Any) -> tuple[Probe, ...]:
    return Choice(faults, **options).probes(HERE)


def names(*faults: Any, **options: Any) -> list[str]:
    return [probe.name for probe in probes(*faults, **options)]


@pytest.mark.parametrize(
    ("faults", "options", "expected"),
    [
        (["cut@after_tokens=3"], {}, ["cut@after_tokens=3"]),
        ([{"cut": {"after_tokens": 3}}], {}, ["cut@after_tokens=3"]),
        (["cut"], {}, ["cut@after_tokens=1", "cut@before_done", "cut@in_tool_arguments"]),
        (["duplicate", "crlf"], {}, ["duplicate", "crlf"]),
        (["cut", "cut@before_done"], {}, ["cut@after_tokens=1", "cut@before_done", "cut@in_tool_arguments"]),
        (["missing_field@at_start,field=/id"], {}, ["missing_field@at_start,field=/id"]),
        (
            ["cut", "empty_body", "error_event"],
            {"positions": ["after_bytes=9", {"after_tokens": 5}]},
            ["cut@after_bytes=9", "cut@after_tokens=5", "empty_body", "error_event@after_tokens=5"],
        ),
        (["crlf"], {"errors": [429, "context_length"]}, ["error=429", "error=context_length", "crlf"]),
        ([], {"errors": [{"status": 418, "message": "tea"}]}, ["error=418"]),
        (["error=503", 500], {}, ["error=503", "error=500"]),
    ],
)
def test_faults_and_their_names(faults: list[Any], options: dict[str, Any], expected: list[str]) -> None:
    assert names(*faults, **options) == ["intact", *expected]


def test_the_usual_ones_are_nearly_all_there_are() -> None:
    usual = names()
    assert usual[:4] == ["intact", "error=429", "error=500", "error=503"]
    assert len(usual) == 28
    assert {*FAULTS, *ANSWER_FAULTS} - {*USUAL} == {"duplicate", "reorder"}


def test_a_name_states_the_same_probe_again() -> None:
    for probe in probes()[1:]:
        again = probes(probe.name)[1]
        assert (again.name, again.then) == (probe.name, probe.then)


def test_the_rule_of_a_probe() -> None:
    intact, error, cut = probes("cut@before_done", errors=[429], retry_after="2s", when={"turn": 1})
    assert intact.rule is None
    assert error.rule is not None
    assert error.rule.spec == {
        "name": "error=429",
        "when": {"turn": 1},
        "times": 1,
        "then": {"error": 429, "retry_after": "2s"},
    }
    assert cut.rule is not None
    assert (cut.rule.where, cut.rule.times, cut.rule.then.answers, cut.at) == ("test_app.py:7", 1, (False,), 2)
    assert probes("crlf", times=None)[1].rule.times is None  # type: ignore[union-attr]
    assert probes(errors=[429], retry_after=None)[1].then == {"error": 429}


@pytest.mark.parametrize(
    ("faults", "options", "complaint"),
    [
        (["cutt"], {}, 'unknown fault "cutt"; did you mean "cut"?'),
        (["cut@after_token=3"], {}, 'unknown key "after_token"; did you mean "after_tokens"?'),
        (["cut"], {"positions": ["after_token=3"]}, 'unknown key "after_token"; did you mean "after_tokens"?'),
        (["error_event@after_bytes=3"], {}, '"after_bytes" cannot apply to error_event; it takes '),
        ([{}], {}, 'a fault is a name, "cut@after_tokens=3" or {"cut": {"after_tokens": 3}}, not {}'),
        ([], {"errors": [999]}, "999 is the status of no error; write 400 to 599"),
        (["cut"], {"when": {"modl": "x"}}, 'unknown field "modl"; did you mean "model"?'),
        (["cut"], {"times": 0}, '"times" expects at least 1, not 0'),
    ],
)
def test_mistakes_are_told_with_the_place(faults: list[Any], options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(MockserverError) as raised:
        probes(*faults, **options)
    told = str(raised.value.mistakes[0])
    assert told.startswith("test_app.py:7:1: ")
    assert complaint in told
