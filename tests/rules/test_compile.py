from collections import Counter

import pytest
from msgspec.structs import replace

from mockserver.config.timing import PROFILES
from mockserver.core.call import Message
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice, PlayCassette
from mockserver.core.plan import Failure, Forward, Text, Timing, Verdict
from tests.kit.calls import call
from tests.kit.rules import draft, find_then_mistakes, load_rule_text, respond, scope, text


def test_an_answer_with_all_that_goes_with_it():
    made = draft(
        "{text: hi, model: m, usage: {prompt_tokens: 1, completion_tokens: 2, reasoning_tokens: 3, cached_tokens: 4},"
        " headers: {X-A: b}, annotate: {prompt: {hate: low}}}"
    )
    assert made == Draft(
        (DraftChoice((Text("hi"),)),),
        model="m",
        usage={"prompt": 1, "completion": 2, "reasoning": 3, "cached": 4},
        prompt_safety=(Verdict("hate", "low"),),
        headers=(("x-a", "b"),),
    )


TIMES = {
    "{first_token: 300ms, per_token: 12ms, jitter: 20%, total: 2s}": Timing(0.3, 0.012, 0.2, 2.0),
    "{tokens_per_second: 20}": Timing(per_token=0.05),
    "slow": PROFILES["slow"],
    "{profile: slow, jitter: 0%}": replace(PROFILES["slow"], jitter=0.0, distribution="uniform"),
}


@pytest.mark.parametrize(("timing", "expected"), TIMES.items())
@pytest.mark.parametrize("answer", ["text: hi", "error: 429", "raw: {}", "content_filter: {on: prompt}", "echo: true"])
def test_any_answer_has_its_time(answer, timing, expected):
    assert respond(f"{{{answer}, timing: {timing}}}").timing == expected
    assert respond(f"{{{answer}}}").timing is None


def test_choices_differ():
    made = draft("{choices: [{text: a, finish: length}, {text: '{{ last_user }}'}, {refusal: c}], model: m}")
    assert [choice.parts[0].text for choice in made.choices] == ["a", "hello", "c"]
    assert made.choices[0].finish == "length"
    assert made.model == "m"


def test_an_echo_is_what_the_user_said():
    assert text("{echo: true}", scope(call("a", Message("assistant", "b"), "c {{ 7*7 }}"))) == "c {{ 7*7 }}"
    assert draft("{echo: true, chunks: char, finish: length}").choices == (
        DraftChoice((Text("hello", "char"),), finish="length"),
    )


def test_generated_answers_are_made_for_each_choice():
    made = draft("{generate: {kind: prose, tokens: 20}}", scope(call("hi", n=3)))
    assert len({choice.parts[0].text for choice in made.choices}) == 3
    assert draft("{generate: prose}").choices == draft("{generate: {kind: prose}}").choices
    (ended,) = draft("{generate: prose, finish: length}").choices
    assert ended == DraftChoice(draft("{generate: prose}").choices[0].parts, finish="length")


def conversation(turns):
    said = [message for turn in range(turns) for message in ("more", Message("assistant", str(turn)))]
    return scope(call("begin", *said[1:], "more") if turns else call("begin"))


def test_steps_follow_the_conversation_and_the_last_repeats():
    then = "{steps: [{text: a}, {error: 429}, {text: 'c {{ call.turn }}'}]}"
    assert [text(then, conversation(turns)) for turns in (0, 2, 5)] == ["a", "c 2", "c 5"]
    assert isinstance(respond(then, conversation(1)).outcome, Failure)


ONE_OF = "{one_of: [{then: {text: a}}, {weight: 3, then: {text: b}}, {weight: 0.0001, then: {text: c}}]}"


def test_one_of_several_by_weight():
    counts = Counter(text(ONE_OF, scope(call(f"hello {i}"))) for i in range(400))
    assert 60 < counts["a"] < 140
    assert 260 < counts["b"] < 340


def test_a_conversation_keeps_its_branch():
    for i in range(20):
        opening = f"hello {i}"
        first = text(ONE_OF, scope(call(opening)))
        assert text(ONE_OF, scope(call(opening, Message("assistant", "hi"), "and now?"))) == first


def test_the_seed_and_the_name_decide_and_nothing_else_does():
    branches = "one_of: [" + ", ".join(f"{{then: {{text: t{i}}}}}" for i in range(50)) + "]"

    def chosen(file, name, seed):
        rule = load_rule_text(file.replace("NAME", name).replace("THEN", f"{{{branches}}}"))[-1]
        return rule.then.respond(scope(seed=seed)).outcome.choices[0].parts[0].text

    alone, below = "rules: [{name: NAME, then: THEN}]", "rules: [{then: {text: x}}, {name: NAME, then: THEN}]"
    assert chosen(alone, "a", 0) == chosen(below, "a", 0)
    assert len({chosen(alone, name, seed) for name in "abcd" for seed in (0, 1)}) > 4


BAD = {
    "{generate: {kind: prose, tokens: 100001}}": '33: "tokens" expects at most 100000, not 100001',
    "{generate: {kind: prose, schema: {}}}": '25: "schema" cannot be combined with kind: prose; write kind: schema',
    "{choices: [{text: a, annotate: {prompt: {hate: low}}}]}": (
        '32: all choices share one prompt; put this next to "choices"'
    ),
    "{text: a, model: '{{ call.model }}'}": "17: templates are not supported here: this is sent unchanged",
    "{echo: true, chunks: [a]}": "21: exact pieces need fixed text; use token, word, char or {size: 7}",
    "{generate: prose, chunks: [a]}": "26: exact pieces need fixed text; use token, word, char or {size: 7}",
    "{generate: proze}": '11: unknown generator "proze"; did you mean "prose"?',
    "{generate: {kind: schema, schema: {type: objekt}}}": '34: invalid JSON Schema: "objekt" is not valid',
    "{generate: {kind: echo, tokens: 1}}": (
        '24: "tokens" has no effect for kind: echo; use it with auto, prose, lorem, words'
    ),
    "{text: a, timing: {per_token: 1, tokens_per_second: 3}}": ('33: use "tokens_per_second" or "per_token", not both'),
    "{choices: [{text: a, content_filter: {on: prompt}}]}": (
        '42: all choices share one prompt; put the filter next to "choices", or write on: completion'
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_answers_that_cannot_be(then, mistake):
    (found,) = find_then_mistakes(then)
    assert found.startswith(mistake)


def test_what_is_recorded_or_forwarded_is_left_to_others() -> None:
    assert respond("{cassette: chat}").outcome == PlayCassette("chat")
    timed = respond("{cassette: chat, timing: {total: 2s}, faults: [reset]}")
    assert (timed.outcome, timed.timing) == (PlayCassette("chat"), Timing(total=2.0))
    assert [fault.name for fault in timed.faults] == ["reset"]
    assert respond("{forward: true}").outcome == Forward()


RULES = """
rules:
  - then:
      steps:
        - text: one
        - one_of:
            - {weight: 1000000, then: {text: two}}
            - then:
                error: 500
                faults:
                  - cut: {after_tokens: 3}
                  - crlf
  - then: {faults: [stall, {slow: {}}]}
  - then: {text: hi}
"""


def test_what_a_then_can_come_to_and_where_it_stands():
    told = [[(each.path, each.place.line, each.fault) for each in rule.then.branches] for rule in load_rule_text(RULES)]
    assert told == [
        [
            ("steps[0]", 5, ""),
            ("steps[1].one_of[0]", 7, ""),
            ("steps[1].one_of[1]", 8, ""),
            ("steps[1].one_of[1].faults[0]", 11, "cut"),
            ("steps[1].one_of[1].faults[1]", 12, "crlf"),
        ],
        [("faults[0]", 13, "stall"), ("faults[1]", 13, "slow")],
        [],
    ]


STATED = {
    "{embedding: [1, -0.5]}": ArtifactDraft((1.0, -0.5), key="embedding"),
    "{embedding: [1], model: m, usage: {prompt_tokens: 3}, headers: {A: b}}": ArtifactDraft(
        (1.0,), "m", {"prompt": 3}, (("a", "b"),), key="embedding"
    ),
    "{moderation: {violence: 0.92, self-harm/intent: 0}}": ArtifactDraft(
        {"violence": 0.92, "self-harm/intent": 0.0}, key="moderation"
    ),
    "{moderation: {}}": ArtifactDraft({}, key="moderation"),
    "{moderation: [hate, sexual/minors], model: m}": ArtifactDraft(
        {"hate": 0.95, "sexual/minors": 0.95}, "m", key="moderation"
    ),
}


@pytest.mark.parametrize(("then", "stated"), STATED.items())
def test_what_is_no_text(then, stated):
    assert respond(then).outcome == stated


BAD_DOCUMENTS = {
    "{embedding: [1.0e+39]}": '13: an item of "embedding" expects at most 3.4e+38, not 1e+39',
    "{moderation: 3}": '13: "moderation" expects scores such as {violence: 0.92}, or a list of categories, not 3',
    "{moderation: {violens: 1}}": '14: unknown key "violens"; did you mean "violence"?',
    "{moderation: {hate: 2}}": '20: "hate" expects at most 1, not 2',
    "{embedding: [1], model: '{{ x }}'}": "24: templates are not supported here: this is sent unchanged",
}


@pytest.mark.parametrize(("then", "mistake"), BAD_DOCUMENTS.items())
def test_what_cannot_be(then, mistake):
    assert find_then_mistakes(then) == [mistake]
