"""`mockserver explain` says which rule answers, and why each other does not."""

import json
from pathlib import Path

import pytest

from tests.kit.program import run

RULES = """rules:
  - name: weather
    when: {last_user: "*weather*", tools: {includes: get_weather}}
    then: {text: sunny}
  - name: rest
    then: {text: well}
"""
BODY = {"model": "m", "messages": [{"role": "user", "content": "the weather?"}]}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def explain(rules: Path, content: object, *more: object) -> str:
    request = rules.parent / "request.json"
    request.write_text(json.dumps(content))
    ran = run("explain", request, rules, *more)
    return ran.out or ran.err


def test_each_rule_is_held_against_the_request(rules: Path) -> None:
    out = explain(rules, BODY)
    assert out.startswith(f"answered by: rule {rules}:5 rest\n")
    assert f'{rules}:2 "weather" does not hold\n' in out
    assert f'{rules}:5 "rest" holds' in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == ["ok", "MISS"]


def test_a_whole_request_may_be_described(rules: Path) -> None:
    request = {"path": "/azure/chat/completions?api-version=2024-05-01-preview", "headers": {"X-A": "b"}, "body": BODY}
    assert explain(rules, request).startswith("answered by: rule")


COUNTING = """rules:
  - {name: paid, state: {is: paid}, then: {text: a}}
  - {name: twice, times: 2, then: {text: b}}
"""


def test_counters_are_told_as_for_a_first_call(rules: Path) -> None:
    rules.write_text(COUNTING)
    out = explain(rules, BODY)
    assert f'{rules}:2 "paid" does not hold\n  MISS  state "paid": got "start"\n' in out
    assert f'{rules}:3 "twice" holds\n  ok    times 2: got 1\n' in out


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            {"messages": []},
            "would refuse this request to /openai/v1/chat/completions: Missing required parameter: 'model'.",
        ),
        ([1], "wants a JSON object: the body of a request, or method, path, headers and body"),
        ({"path": "/v1/chat", "body": BODY}, "nothing stands at /v1/chat; the nearest: POST /v1/chat/completions"),
        ({"method": "PUT", "body": BODY}, "/openai/v1/chat/completions takes POST, GET, not PUT"),
    ],
)
def test_what_cannot_be_explained_is_one_line(rules: Path, content: object, error: str) -> None:
    out = explain(rules, content)
    assert error in out
    assert len(out.splitlines()) == 1


def test_other_operations_are_known_by_their_bodies(rules: Path) -> None:
    rules.write_text("rules:\n  - {name: hi, when: {operation: responses, last_user: hi}, then: {text: x}}\n")
    assert explain(rules, {"input": "hi"}).startswith(f"answered by: rule {rules}:2 hi  (at /openai/v1/responses)\n")
    look_up = {"method": "GET", "path": "/v1/responses/resp_1"}
    assert explain(rules, look_up).startswith("answered by: generated  (at /v1/responses/resp_1)\n")


def test_each_of_several_prompts_is_explained(rules: Path) -> None:
    rules.write_text("rules:\n  - {name: north, when: {last_user: north}, then: {embedding: [0, 1]}}\n")
    out = explain(rules, {"model": "text-embedding-3-small", "input": ["north", "south"]})
    assert out == (
        f"answered by: rule {rules}:2 north, generated  (at /openai/v1/embeddings)\n"
        f'\nprompt 0: "north"\n\n{rules}:2 "north" holds\n'
        '  ok    last_user equals "north"\n'
        f'\nprompt 1: "south"\n\n{rules}:2 "north" does not hold\n'
        '  MISS  last_user equals "north": got "south"\n'
    )


def test_text_that_is_not_json_is_named(rules: Path) -> None:
    request = rules.parent / "r.json"
    request.write_text("{")
    assert run("explain", request, rules).err.startswith(f"mockserver: {request}: not JSON: ")


def test_a_model_that_the_settings_do_not_list_is_answered_by_no_rule(rules: Path) -> None:
    rules.write_text(f"settings: {{models: [gpt-5]}}\n{RULES}")
    assert explain(rules, BODY).startswith("answered by: invalid: unknown_model\n")


def test_a_pattern_that_takes_too_long_is_told(rules: Path) -> None:
    rules.write_text("rules:\n  - {when: {last_user: {regex: '(?:a|aa|b?a)+c(a*)*d'}}, then: {text: x}}\n")
    out = explain(rules, {"model": "m", "messages": [{"role": "user", "content": "a" * 60 + "c" + "a" * 40}]})
    assert f'{rules}:2 "rule 1" fails: the pattern ' in out


def test_the_retry_header_of_the_client_counts(rules: Path) -> None:
    rules.write_text("rules:\n  - {name: again, when: {attempt: 2}, then: {text: x}}\n")
    out = explain(rules, {"headers": {"x-stainless-retry-count": "1"}, "body": BODY})
    assert out == f'answered by: rule {rules}:2 again\n\n{rules}:2 "again" holds\n  ok    attempt equals 2\n'


def test_no_credential_is_told(rules: Path) -> None:
    rules.write_text("rules:\n  - {name: never, when: {last_user: never}, then: {text: x}}\n")
    body = {"model": "m", "messages": [{"role": "user", "content": "is SK-PROJ-0A1B2C mine?"}]}
    out = explain(rules, {"headers": {"authorization": "Bearer sk-proj-0a1b2c"}, "body": body})
    assert 'got "is sk-...(masked) mine?"' in out
