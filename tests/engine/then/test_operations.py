"""What a rule's answer can be for."""

import pytest

from mockserver.core.draft import DocumentDraft, Draft
from mockserver.core.plan import Failure, Raw
from mockserver.rules.answer.checks import GENERATIVE, misfit
from mockserver.rules.match.fields import OPERATIONS
from tests.kit.calls import call
from tests.kit.rules import loaded, mistakes

FOR = {
    "{then: {text: a}}": set(GENERATIVE),
    "{then: {error: 429}}": set(GENERATIVE),
    "{then: {embedding: [1]}}": {"embeddings"},
    "{when: {model: gpt-4o}, then: {moderation: {}}}": {"moderations"},
    "{then: {steps: [{embedding: [1]}, {error: 429}]}}": {"embeddings"},
    "{then: {one_of: [{then: {moderation: []}}]}}": {"moderations"},
    "{when: {operation: embeddings}, then: {error: 429}}": {"embeddings"},
    "{when: {operation: [chat, embeddings]}, then: {raw: {}}}": {"chat", "embeddings"},
    "{when: {path: '*'}, then: {embedding: [1]}}": set(OPERATIONS),
}


@pytest.mark.parametrize(("rule", "operations"), FOR.items())
def test_what_a_rule_is_for(rule, operations):
    (made,) = loaded(f"rules: [{rule}]")
    assert {name for name in OPERATIONS if made.when.holds(call("hi", operation=name)) is not None} == operations


TEXT = "use it for chat, completions, responses"
BAD = {
    "{operation: embeddings}": ("{text: a}", f'"text" cannot answer the operation "embeddings"; {TEXT}'),
    "{operation: moderations}": ("{echo: true}", f'"echo" cannot answer the operation "moderations"; {TEXT}'),
    "{operation: chat}": (
        "{embedding: [1]}",
        '"embedding" cannot answer the operation "chat"; use it for embeddings',
    ),
    "{operation: [embeddings, responses]}": (
        "{moderation: []}",
        '"moderation" cannot answer the operation "embeddings"; use it for moderations; write embedding: [...]',
    ),
    "{all: [{operation: models}, {model: x}]}": (
        "{json: {}}",
        f'"json" cannot answer the operation "models"; {TEXT}',
    ),
}


@pytest.mark.parametrize(("when", "then", "mistake"), [(when, *said) for when, said in BAD.items()])
def test_an_answer_that_cannot_be_is_told_at_its_key(when, then, mistake):
    hint = {"embeddings": "; write embedding: [...]", "moderations": "; write moderation: {...}"}
    other = mistake.split('operation "')[1].split('"')[0]
    whole = mistake if mistake.endswith("[...]") or other not in hint else mistake + hint[other]
    assert mistakes(f"rules:\n  - when: {when}\n    then: {then}\n") == [f"3:12: {whole}"]


@pytest.mark.parametrize(
    ("when", "then", "told"),
    [
        ("chat", "{text: a, items: [{type: reasoning, text: b}]}", '3:21: the operation "chat" cannot send "items"'),
        ("[chat, completions]", "{failed: true}", '3:12: the operation "chat" cannot send "failed"; responses can'),
        (
            "completions",
            "{steps: [{tool_calls: [{name: f}]}]}",
            '3:21: the operation "completions" cannot send "tool_calls"; chat, responses can',
        ),
    ],
)
def test_what_the_operations_asked_for_have_no_place_for_is_told(when, then, told):
    (mistake,) = mistakes(f"rules:\n  - when: {{operation: {when}}}\n    then: {then}\n")
    assert mistake.startswith(told)


def test_what_one_of_the_operations_can_send_may_stand():
    assert loaded("rules:\n  - when: {operation: [chat, responses]}\n    then: {text: a, failed: true}\n")


def test_inside_steps_too():
    text = "rules:\n  - when: {operation: embeddings}\n    then: {steps: [{embedding: [1]}, {text: a}]}\n"
    (told,) = mistakes(text)
    assert told.startswith('3:39: "text" cannot answer the operation "embeddings"')


def test_mixed_answers_are_told_where_nothing_is_pinned():
    (told,) = mistakes("rules:\n  - then: {steps: [{text: a}, {embedding: [1]}]}\n")
    assert told == '2:32: "embedding" cannot answer the operation "chat"; use it for embeddings'


FITS = [
    (Draft(()), "chat", None),
    (Draft(()), "embeddings", 'this rule gives a text, which cannot answer the operation "embeddings"'),
    (Draft(()), "models", 'this rule gives a text, which cannot answer the operation "models"'),
    (DocumentDraft((1.0,)), "embeddings", None),
    (DocumentDraft((1.0,)), "chat", 'this rule gives a vector, which cannot answer the operation "chat"'),
    (DocumentDraft({}), "moderations", None),
    (DocumentDraft({}), "embeddings", 'this rule gives scores, which cannot answer the operation "embeddings"'),
    (Failure("quota"), "models", None),
    (Raw(200, ()), "embeddings", None),
]


@pytest.mark.parametrize(("outcome", "operation", "why"), FITS)
def test_what_fits_at_run_time(outcome, operation, why):
    assert misfit(outcome, operation) == why
