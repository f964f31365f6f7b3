"""What a rule's answer can be for."""

import pytest

from mockserver.core.draft import ArtifactDraft, Draft
from mockserver.core.plan import Failure
from mockserver.kinds import CONVERSATIONS
from mockserver.rules.checks import OUTCOMES, explain_misfit
from mockserver.rules.match.fields import OPERATIONS
from tests.kit.calls import call
from tests.kit.rules import find_rule_mistakes, find_then_mistakes, load_rule_text

BAD = {
    "{content_filter: {on: completion}}": (
        '0: "content_filter" on the completion needs text to cut; add text: ..., or write on: prompt'
    ),
    "{retry_after: 2s}": '0: "retry_after" needs an error; add error: 429',
    "{text: a, json: {}}": '10: use "text" or "json", not both',
    "{text: a, content_filter: {on: prompt}}": (
        '10: use "text" or "content_filter", not both, or write on: completion'
    ),
    "{error: 429, finish: stop}": '13: "finish" cannot be combined with "error"',
    "{parts: [{text: a}], reasoning: x}": (
        '21: "reasoning" cannot be combined with "parts"; put {reasoning: ...} into the list'
    ),
    "{choices: [{text: a}], finish: stop}": '23: "finish" cannot be combined with "choices"; put it into each choice',
    "{cassette: a, headers: {a: b}}": (
        '14: "headers" cannot be combined with "cassette"; an episode is replayed unchanged'
    ),
    "{forward: true, timing: {total: 3}}": (
        '16: "timing" cannot be combined with "forward"; the provider\'s answer is sent unchanged'
    ),
    "{steps: [{text: a}], faults: [cut]}": '21: "faults" cannot be combined with "steps"; put it into each step',
}  # fmt: skip


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_exactly_one_answer_and_what_goes_with_it(then, mistake):
    assert find_then_mistakes(then) == [mistake]


def test_a_rule_without_an_answer_is_told_of_all_answers():
    (mistake,) = find_then_mistakes("{}")
    start, listed = mistake.split("; write one of ")
    assert start == "0: an answer is missing here"
    assert listed.split(", ") == [*OUTCOMES]
    assert {"text", "error", "generate", "embedding", "tool_error", "faults"} <= {*OUTCOMES}


GOOD = (
    "{faults: [cut], timing: {}}",
    "{text: a, reasoning: b, citations: [], annotations: [], logprobs: [-1], finish: stop, usage: {}, model: m,"
    " headers: {}, chunks: char, timing: {}, annotate: {}, content_filter: {on: completion}}",
    "{json: null}",
    "{refusal: a, tool_calls: [{name: b}]}",
    "{parts: [{text: a}], annotations: [], logprobs: [-1], finish: stop, chunks: char}",
    "{choices: [{text: a, finish: length}], usage: {}, model: m, headers: {}, timing: {}, annotate: {}}",
    "{error: 429, retry_after: 1, headers: {}, timing: {}}",
    "{content_filter: {on: prompt}, annotate: {}, headers: {}, timing: {}}",
    "{generate: prose, finish: stop, usage: {}, model: m}",
)


@pytest.mark.parametrize("then", GOOD)
def test_what_goes_together(then):
    assert load_rule_text(f"rules: [{{then: {then}}}]")


FOR = {
    "{then: {text: a}}": set(CONVERSATIONS),
    "{then: {embedding: [1]}}": {"embeddings"},
    "{then: {steps: [{embedding: [1]}, {error: 429}]}}": {"embeddings"},
    "{when: {operation: [chat, embeddings]}, then: {raw: {}}}": {"chat", "embeddings"},
    "{when: {path: '*'}, then: {embedding: [1]}}": set(OPERATIONS),
    "{then: {status: [validating, failed]}}": {"create_batch"},
    "{then: {status: [queued, failed]}}": {
        "create_fine_tuning_job",
        "create_eval_run",
        "create_video",
        "create_async_chat",
    },
}


@pytest.mark.parametrize(("rule", "operations"), FOR.items())
def test_what_a_rule_is_for(rule, operations):
    (made,) = load_rule_text(f"rules: [{rule}]")
    assert {name for name in OPERATIONS if made.when.holds(call("hi", operation=name)) is not None} == operations


TEXT = "use it for chat, completions, responses, realtime"
BAD_OPERATIONS = {
    "{operation: embeddings}": ("{text: a}", f'"text" cannot answer the operation "embeddings"; {TEXT}'),
    "{operation: chat}": (
        "{embedding: [1]}",
        '"embedding" cannot answer the operation "chat"; use it for embeddings',
    ),
    "{operation: [embeddings, responses]}": (
        "{moderation: []}",
        '"moderation" cannot answer the operation "embeddings"; use it for moderations, classifications; '
        "write embedding: [...]",
    ),
    "{operation: [chat, file]}": ("{text: a}", f'"text" cannot answer the operation "file"; {TEXT}'),
    "{all: [{operation: models}, {model: x}]}": (
        "{text: a}",
        f'"text" cannot answer the operation "models"; {TEXT}',
    ),
}


@pytest.mark.parametrize(("when", "then", "mistake"), [(when, *said) for when, said in BAD_OPERATIONS.items()])
def test_an_answer_that_cannot_be_is_told_at_its_key(when, then, mistake):
    hint = {"embeddings": "; write embedding: [...]", "moderations": "; write moderation: {...}"}
    other = mistake.split('operation "')[1].split('"')[0]
    whole = mistake if mistake.endswith("[...]") or other not in hint else mistake + hint[other]
    assert find_rule_mistakes(f"rules:\n  - when: {when}\n    then: {then}\n") == [f"3:12: {whole}"]


@pytest.mark.parametrize(
    ("when", "statuses", "told"),
    [
        (
            "create_file",
            "[uploaded, succeeded]",
            'an object of "create_file" is never succeeded; its statuses are pending, uploaded, processed, error',
        ),
        (
            "[create_batch, create_eval_run]",
            "canceled",
            'an object of "create_batch" is never canceled; its statuses are validating, in_progress, finalizing, '
            "completed, failed, expired, cancelling, cancelled",
        ),
    ],
)
def test_statuses_are_those_of_the_objects_that_a_rule_is_for(when, statuses, told):
    rule = f"rules:\n  - when: {{operation: {when}}}\n    then: {{status: {statuses}}}\n"
    assert find_rule_mistakes(rule) == [f"3:12: {told}"]


def test_no_object_has_these_statuses():
    assert find_rule_mistakes("rules: [{then: {status: [processed, failed]}}]") == [
        "1:17: no object has the statuses failed, processed"
    ]


@pytest.mark.parametrize(
    ("when", "then", "told"),
    [
        (
            "completions",
            "{text: a, items: [{type: reasoning, text: b}]}",
            '3:21: the operation "completions" cannot send "items"',
        ),
        (
            "[chat, completions]",
            "{failed: true}",
            '3:12: the operation "chat" cannot send "failed"; responses, realtime can',
        ),
        (
            "completions",
            "{steps: [{tool_calls: [{name: f}]}]}",
            '3:21: the operation "completions" cannot send "tool_calls"; chat, responses, realtime can',
        ),
        (
            "input_tokens",
            "{json: {input_tokens: 7}}",
            '3:12: the operation "input_tokens" cannot send "json"; for a count, write text: "" and usage: {',
        ),
    ],
)
def test_what_the_operations_asked_for_have_no_place_for_is_told(when, then, told):
    (mistake,) = find_rule_mistakes(f"rules:\n  - when: {{operation: {when}}}\n    then: {then}\n")
    assert mistake.startswith(told)


FITS = [
    (Draft(()), "chat", None),
    (Draft(()), "create_batch", 'this rule answers with text, which cannot answer the operation "create_batch"'),
    (Draft(()), "embeddings", 'this rule answers with text, which cannot answer the operation "embeddings"'),
    (
        ArtifactDraft((1.0,), key="embedding"),
        "chat",
        'this rule answers with a vector, which cannot answer the operation "chat"',
    ),
    (
        ArtifactDraft({}, key="moderation"),
        "embeddings",
        'this rule answers with scores, which cannot answer the operation "embeddings"',
    ),
    (Failure("quota"), "models", None),
]


@pytest.mark.parametrize(("outcome", "operation", "why"), FITS)
def test_what_fits_at_run_time(outcome, operation, why):
    assert explain_misfit(outcome, call("hello", operation=operation)) == why


CANNOT = '"when" requires the dialect "plain", which cannot send '


def wrong(when, then):
    return find_rule_mistakes(f"rules:\n  - when: {when}\n    then: {then}\n")


USES = {
    "{tool_calls: [{name: a, input: b}]}": ("3:35: " + CANNOT + "calls of custom tools; openai can"),
    "{parts: [{text: a}, {refusal: b}]}": "3:32: " + CANNOT + "a refusal; openai can",
    "{parts: [{tool_call: {name: a, input: b}}]}": ("3:42: " + CANNOT + "calls of custom tools; openai can"),
    "{text: a, finish: error}": "3:21: " + CANNOT + "the finish reason error",
    "{refusal: a}": "3:12: " + CANNOT + "a refusal; openai can",
    "{text: a, annotations: [{}]}": "3:21: " + CANNOT + "annotations; openai can",
    "{text: a, citations: [{url: b}]}": "3:21: " + CANNOT + "annotations; openai can",
    "{text: a, annotate: {prompt: {hate: low}}}": "3:21: " + CANNOT + "filter severities; skytells can",
    "{parts: [{text: a}, {item: {type: message, text: a}}]}": ("3:32: " + CANNOT + "response items; openai can"),
    "{text: a, failed: true}": "3:21: " + CANNOT + "an answer that breaks off; openai can",
    "{embedding: [1]}": "3:12: " + CANNOT + "embeddings; openai can",
    "{tool_calls: [{name: a, arguments: '{}'}], chunks: ['{', '}']}": "3:54: " + CANNOT + "a tool call in pieces",
    "{parts: [{tool_call: {name: a, arguments: '{}'}, chunks: ['{}']}]}": "3:60: " + CANNOT + "a tool call in pieces",
    "{choices: [{text: a}, {refusal: b}]}": "3:34: " + CANNOT + "a refusal; openai can",
}


@pytest.mark.parametrize(("then", "mistake"), USES.items())
def test_what_a_dialect_cannot_send(then, mistake):
    assert wrong("{dialect: plain}", then) == [mistake]


UNKNOWN = {
    "{dialect: {in: [azure, opnai]}}": '2:34: unknown dialect "opnai"; did you mean "openai"?',
    "{dialect: [azure, opnai]}": '2:29: unknown dialect "opnai"; did you mean "openai"?',
    "{dialect: openia}": '2:21: unknown dialect "openia"; did you mean "openai"?',
    "{not: {dialect: openia}}": '2:27: unknown dialect "openia"; did you mean "openai"?',
    "{dialect: zzz}": '2:21: unknown dialect "zzz"; choose one of openai, skytells, azure, plain',
    "{dialect: {equals: azur}}": '2:30: unknown dialect "azur"; did you mean "azure"?',
    "{dialect: groq}": '2:21: unknown dialect "groq"; it is a host: write "host: groq"',
    "{host: [acme, gorq]}": '2:25: unknown host "gorq"; did you mean "groq"?',
    "{not: {host: zzz}}": '2:24: unknown host "zzz"; choose one of groq, acme',
    "{any: [{host: azure}]}": '2:25: unknown host "azure"; it is a dialect: write "dialect: azure"',
}


@pytest.mark.parametrize(("when", "mistake"), UNKNOWN.items())
def test_unknown_dialects_and_hosts(when, mistake):
    assert wrong(when, "{text: a}") == [mistake]
