import pytest

from mockserver.rules.answer.checks import BESIDE, OUTCOMES
from mockserver.rules.schema import ThenSpec
from tests.kit.rules import loaded, then_mistakes

ANSWERS = (
    "text, json, refusal, tool_calls, items, parts, choices, error, content_filter, generate, echo, raw, cassette, "
    "forward, steps, one_of, embedding, moderation, failed, faults, timing"
)

BAD = {
    "{}": f"0: there is no answer here; write one of {ANSWERS}",
    "{finish: stop}": f"0: there is no answer here; write one of {ANSWERS}",
    "{retry_after: 2s}": '0: "retry_after" goes with an error; add error: 429',
    "{content_filter: {on: completion}}": (
        '0: "content_filter" on the completion needs a text that it cuts; add text: ..., or write on: prompt'
    ),
    "{text: a, json: {}}": '10: use "text" or "json", not both',
    "{json: null, refusal: a}": '13: use "json" or "refusal", not both',
    "{text: a, error: 429}": '10: use "text" or "error", not both',
    "{error: 429, text: a}": '1: use "text" or "error", not both',
    "{parts: [{text: a}], tool_calls: [{name: b}]}": '1: use "tool_calls" or "parts", not both',
    "{text: a, content_filter: {on: prompt}}": (
        '10: use "text" or "content_filter", not both, or write on: completion'
    ),
    "{error: 429, finish: stop}": '13: "finish" does not go with "error"',
    "{text: a, retry_after: 1}": '10: "retry_after" does not go with "text"',
    "{parts: [{text: a}], reasoning: x}": (
        '21: "reasoning" does not go with "parts"; put {reasoning: ...} into the list'
    ),
    "{choices: [{text: a}], finish: stop}": '23: "finish" does not go with "choices"; put it into each choice',
    "{choices: [{finish: stop}]}": (
        "11: there is no answer here; write one of text, json, refusal, tool_calls, items, parts, content_filter"
    ),
    "{cassette: a, forward: true}": '14: use "cassette" or "forward", not both',
    "{cassette: a, headers: {a: b}}": (
        '14: "headers" does not go with "cassette"; an episode is replayed as it was recorded'
    ),
    "{forward: true, timing: {total: 3}}": (
        '16: "timing" does not go with "forward"; the provider\'s answer is sent unchanged'
    ),
    "{raw: {body: a}, headers: {a: b}}": '17: "headers" does not go with "raw"; put it into "raw"',
    "{steps: [{text: a}], timing: {total: 3}}": '21: "timing" does not go with "steps"; put it into each step',
    "{one_of: [{then: {text: a}}], model: x}": (
        '30: "model" does not go with "one_of"; put it into the "then" of each branch'
    ),
    "{faults: [cut], headers: {}}": '16: "headers" does not go with "faults"; add generate: auto',
    "{steps: [{text: a}], faults: [cut]}": '21: "faults" does not go with "steps"; put it into each step',
    "{echo: true, logprobs: [-1]}": '13: "logprobs" does not go with "echo"',
}  # fmt: skip


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_exactly_one_answer_and_what_goes_with_it(then, mistake):
    assert then_mistakes(then) == [mistake]


def test_everything_that_does_not_go_is_told():
    assert len(then_mistakes("{error: 429, finish: stop, usage: {}, chunks: char}")) == 3


GOOD = (
    "{faults: [cut], timing: {}}",
    "{failed: true, faults: [cut]}",
    "{text: a, reasoning: b, annotations: [], logprobs: [-1], finish: stop, usage: {}, model: m, headers: {},"
    " chunks: char, timing: {}, annotate: {}, content_filter: {on: completion}}",
    "{text: a, tool_calls: [{name: b}]}",
    "{json: null}",
    "{refusal: a, tool_calls: [{name: b}]}",
    "{parts: [{text: a}], annotations: [], logprobs: [-1], finish: stop, chunks: char}",
    "{choices: [{text: a, finish: length}], usage: {}, model: m, headers: {}, timing: {}, annotate: {}}",
    "{error: 429, retry_after: 1, headers: {}, timing: {}}",
    "{content_filter: {on: prompt}, annotate: {}, headers: {}, timing: {}}",
    "{generate: prose, finish: stop, usage: {}, model: m}",
    "{echo: true, chunks: char}",
    "{raw: {}, timing: {}}",
)


@pytest.mark.parametrize("then", GOOD)
def test_what_goes_together(then):
    assert loaded(f"rules: [{{then: {then}}}]")


def test_every_key_of_then_has_its_place():
    keys = {field.alias or name for name, field in ThenSpec.model_fields.items()}
    assert set(OUTCOMES) | frozenset().union(*BESIDE.values()) == keys
    assert set(BESIDE) == set(OUTCOMES.values())
