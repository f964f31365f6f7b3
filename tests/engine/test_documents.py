"""Vectors and moderations: made up, or as a rule states them."""

import pytest

from mockserver.core.call import Call, IdShape, Prompt
from mockserver.core.draft import DocumentDraft
from mockserver.core.plan import Embeddings, Moderations
from mockserver.core.seed import Clock, Seed
from mockserver.engine.answer import Author, document
from mockserver.model.embedding import embedding
from mockserver.model.scores import judgement
from tests.kit.calls import call
from tests.kit.local import local

AUTHOR = Author(Seed(), Clock())
EMBEDDINGS, MODERATIONS = "/v1/embeddings", "/v1/moderations"


def asked(operation: str, **fields: object) -> Call:
    prompt = Prompt("a sea")
    return call("a sea", operation=operation, prompts=(prompt,), ids=IdShape("modr-", 32, "hex"), **fields)


def test_a_vector_for_a_prompt() -> None:
    made = document(asked("embeddings"), DocumentDraft(), AUTHOR)
    assert made == Embeddings("gpt-4o", (embedding("a sea", 1536, Seed()),), 2)
    made = document(asked("embeddings", dimensions=3), DocumentDraft(), AUTHOR)
    assert made == Embeddings("gpt-4o", (embedding("a sea", 3, Seed()),), 2)


def test_a_vector_that_is_stated() -> None:
    stated = DocumentDraft((0.5, 1.0), "m", {"prompt": 7}, (("a", "b"),))
    assert document(asked("embeddings"), stated, AUTHOR) == Embeddings("m", ((0.5, 1.0),), 7, (("a", "b"),))


def test_a_moderation_of_a_prompt() -> None:
    made = document(asked("moderations"), DocumentDraft({"hate": 0.7}, "m", headers=(("a", "b"),)), AUTHOR)
    assert isinstance(made, Moderations)
    assert (made.model, made.headers) == ("m", (("a", "b"),))
    assert made.results == (judgement("a sea", {"hate": 0.7}, Seed()),)
    assert made.id.startswith("modr-")
    assert len(made.id) == 37


RULES = """
rules:
  - name: stated
    when: {last_user: "*stated*"}
    then: {embedding: [0.6, 0.8]}
  - name: bad
    when: {last_user: "*bad*"}
    then: {moderation: {violence: 0.9}}
  - name: busy
    when: {last_user: "*busy*", operation: [embeddings, moderations]}
    then: {error: 429}
  - name: odd
    when: {last_user: "*odd*", path: "*"}
    then: {text: a}
"""


def test_each_input_gets_what_it_would_get_alone() -> None:
    server = local(RULES)
    several = server.ask(EMBEDDINGS, {"model": "m", "input": ["x", "stated", "y z"], "dimensions": 4})
    alone = [
        server.ask(EMBEDDINGS, {"model": "m", "input": text, "dimensions": 4}).json for text in ("x", "stated", "y z")
    ]
    assert [entry["embedding"] for entry in several.json["data"]] == [one["data"][0]["embedding"] for one in alone]
    assert several.json["usage"]["prompt_tokens"] == sum(one["usage"]["prompt_tokens"] for one in alone)
    assert several.source.startswith("generated, rule ")


def test_results_of_a_moderation_stand_in_order() -> None:
    flags = local(RULES).ask(MODERATIONS, {"input": ["x", "bad", "y"]}).json["results"]
    assert [result["flagged"] for result in flags] == [False, True, False]


@pytest.mark.parametrize("path", [EMBEDDINGS, MODERATIONS])
def test_what_fails_for_one_input_fails_for_all(path: str) -> None:
    assert local(RULES).ask(path, {"model": "m", "input": ["x", "busy", "y"]}).status == 429
    assert local(RULES, unmatched="error").ask(path, {"model": "m", "input": ["x", "y"]}).status == 404


@pytest.mark.parametrize(("path", "name"), [(EMBEDDINGS, "embeddings"), (MODERATIONS, "moderations")])
def test_an_answer_of_another_kind_is_an_error_that_names_the_rule(path: str, name: str) -> None:
    answered = local(RULES).ask(path, {"model": "m", "input": "odd"})
    assert answered.status == 500
    message = answered.json["error"]["message"]
    assert message.endswith(f'rules.yaml:12 odd: this rule gives a text, which cannot answer the operation "{name}"')


def test_a_text_for_a_list_of_models_is_one_too() -> None:
    answered = local('rules: [{when: {path: "*"}, then: {text: a}}]').ask("/v1/models", method="GET")
    assert (answered.status, answered.json["error"]["type"]) == (500, "server_error")
