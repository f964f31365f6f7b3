"""`mockserver ask` makes one request and prints what came."""

import json
from pathlib import Path

import pytest

from tests.kit.program import run

RULES = """rules:
  - {name: hello, when: {last_user: hello}, then: {text: Hi!}}
  - {name: think, when: {last_user: think}, then: {reasoning: Hm., text: So.}}
  - {name: call, when: {last_user: call}, then: {tool_calls: [{name: look, arguments: {at: stars}}]}}
  - {name: no, when: {last_user: "no"}, then: {refusal: Never.}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
  - {name: north, when: {last_user: north}, then: {embedding: [0, 1]}}
  - {name: fight, when: {last_user: fight}, then: {moderation: [violence, hate]}}
  - {name: half, when: {last_user: half}, then: {text: Half, failed: {message: Broken.}}}
  - {name: raw, when: {last_user: raw}, then: {raw: {status: 200, body: bytes}}}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("hello", "Hi!\n"),
        ("think", "(thinks) Hm.\nSo.\n"),
        ("call", 'look({"at":"stars"})\n'),
        ("no", "(refuses) Never.\n"),
        ("raw", "bytes\n"),
    ],
)
def test_the_answer_is_printed(rules: Path, text: str, printed: str) -> None:
    ran = run("ask", text, "-r", rules)
    assert (ran.code, ran.out) == (0, printed)
    assert ran.err.startswith(f"(rule {rules}:")


@pytest.mark.parametrize(
    ("operation", "text", "printed"),
    [
        ("completions", "hello", "Hi!\n"),
        ("responses", "hello", "Hi!\n"),
        ("responses", "half", "Half\n(breaks off) server_error: Broken.\n"),
        ("chat", "half", "Half\n"),
        ("embeddings", "north", "[0, 1]\n"),
        ("moderations", "fight", "flagged: hate, violence\n"),
        ("moderations", "hello", "flagged: nothing\n"),
    ],
)
def test_other_operations_can_be_asked(rules: Path, operation: str, text: str, printed: str) -> None:
    ran = run("ask", text, "-r", rules, "--operation", operation)
    assert (ran.code, ran.out) == (0, printed)


def test_of_a_long_vector_the_first_numbers_are_printed(rules: Path) -> None:
    numbers = run("ask", "south", "-r", rules, "--operation", "embeddings").out.strip("[]\n").split(", ")
    assert len(numbers) == 9
    assert numbers[-1] == "…"


def test_the_vectors_of_azure_can_be_asked(rules: Path) -> None:
    ran = run("ask", "north", "-r", rules, "--operation", "embeddings", "--dialect", "azure")
    assert ran.out == "[0, 1]\n"


def test_an_operation_that_the_dialect_does_not_have_is_one_line(rules: Path) -> None:
    ran = run("ask", "hello", "-r", rules, "--operation", "responses", "--dialect", "fireworks")
    assert (ran.code, ran.err) == (
        2,
        'mockserver: "fireworks" has no operation "responses"; it has completions, chat\n',
    )


def test_an_error_is_printed_as_the_dialect_words_it(rules: Path) -> None:
    out = run("ask", "busy", "-r", rules).out
    assert out.startswith('error 429: {"error":{"message":"Rate limit reached for gpt-4o')


def test_a_model_that_the_settings_do_not_list_is_an_error_too(rules: Path) -> None:
    rules.write_text(f"settings: {{models: [gpt-5]}}\n{RULES}")
    ran = run("ask", "hello", "-r", rules)
    assert ran.out.startswith('error 404: {"error":{"message":"The model `gpt-4o` does not exist')
    assert ran.err == "(invalid)\n"


@pytest.mark.parametrize("dialect", ["openai", "skytells", "crazyrouter", "azure"])
def test_every_dialect_can_be_asked(rules: Path, dialect: str) -> None:
    ran = run("ask", "hello", "-r", rules, "--dialect", dialect, "--json")
    assert json.loads(ran.out)["choices"][0]["message"]["content"] == "Hi!"


def test_a_stream_is_printed_as_it_goes_over_the_wire(rules: Path) -> None:
    out = run("ask", "hello", "-r", rules, "--stream").out
    assert out.startswith('data: {"id":"chatcmpl-')
    assert out.endswith("data: [DONE]\n")


def test_an_unknown_dialect_is_one_line(rules: Path) -> None:
    ran = run("ask", "hello", "-r", rules, "--dialect", "opnai")
    assert ran.code == 2
    assert 'did you mean "openai"?' in ran.err
