"""`mockserver ask` and `mockserver explain`."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from mockserver.dialects import discover_all
from mockserver.server.explain import BODIES, find_usual_path
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
  - {name: cut, when: {last_user: cut}, then: {text: Half, finish: length}}
  - {name: heard, when: {operation: transcriptions, last_user: listen}, then: {transcript: Listened}}
  - {name: raw, when: {last_user: raw}, then: {raw: {status: 200, body: bytes}}}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("operation", "text", "printed"),
    [
        ("chat", "hello", "Hi!\n"),
        ("chat", "think", "(thinks) Hm.\nSo.\n"),
        ("chat", "call", 'look({"at":"stars"})\n'),
        ("chat", "no", "(refuses) Never.\n"),
        ("chat", "cut", "Half\n(finish: length)\n"),
        ("chat", "raw", "bytes\n"),
        ("completions", "hello", "Hi!\n"),
        ("responses", "half", "Half\n(breaks off) server_error: Broken.\n"),
        ("embeddings", "north", "[0, 1]\n"),
        ("moderations", "fight", "flagged: hate, violence\n"),
        ("transcriptions", "listen", "Listened\n"),
    ],
)
def test_the_answer_is_printed(rules: Path, operation: str, text: str, printed: str) -> None:
    ran = run("ask", text, "-r", rules, "--operation", operation)
    assert (ran.code, ran.out) == (0, printed)
    assert ran.err.startswith(f"(rule {rules}:")


@pytest.mark.parametrize("flags", [(), ("--json",), ("--stream",)], ids=str)
def test_who_would_answer_a_forwarded_request_is_told(tmp_path: Path, flags: tuple[str, ...]) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules: [{then: {forward: true}}]")
    ran = run("ask", "hello", "-r", path, *flags)
    assert (ran.code, ran.out) == (0, "(`mockserver serve` would forward this request to the provider)\n")


def test_what_is_said_is_heard_and_pictures_are_sent() -> None:
    assert run("ask", "Hello there", "--operation", "transcriptions").out == "Hello there\n"
    for operation in ("image_edits", "image_variations", "translations"):
        ran = run("ask", "Hello there", "--operation", operation)
        assert (ran.code, ran.err) == (0, "(generated)\n")


@pytest.mark.parametrize(("dialect", "model"), [("anthropic", "claude"), ("gemini", "gemini"), ("openai", "gpt-4o")])
def test_the_usual_model_is_one_of_the_dialect(tmp_path: Path, dialect: str, model: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(f"version: 1\nrules: [{{when: {{model: {model}*}}, then: {{text: Mine}}}}]\n")
    assert run("ask", "hello", "-r", path, "--dialect", dialect).out == "Mine\n"


def test_the_usual_path_of_a_dialect_is_its_own() -> None:
    assert find_usual_path("anthropic") == "/anthropic/v1/messages"  # not that of a platform which offers its models


def test_an_operation_that_the_dialect_lacks_is_one_line(rules: Path) -> None:
    ran = run("ask", "hello", "-r", rules, "--operation", "responses", "--dialect", "fireworks")
    assert (ran.code, ran.err) == (
        2,
        'mockserver: "fireworks" has no operation "responses"; '
        "it has completions, chat, embeddings, rerank, transcriptions, translations\n",
    )


def test_an_error_is_printed_in_the_dialects_envelope(rules: Path) -> None:
    ran = run("ask", "busy", "-r", rules)
    assert ran.code == 1
    assert ran.out.startswith('error 429: {"error":{"message":"Rate limit reached for gpt-4o')
    assert run("ask", "busy", "-r", rules, "--json").code == 1


def test_a_refusal_with_a_success_is_no_error(rules: Path) -> None:
    rules.write_text("rules: [{then: {content_filter: {on: prompt, category: hate}}}]")
    ran = run("ask", "hello", "-r", rules, "--dialect", "anthropic")
    assert (ran.code, ran.out.startswith('refused 200: {"model":')) == (0, True)


def test_an_unlisted_model_is_an_error(rules: Path) -> None:
    rules.write_text(f"settings: {{models: [gpt-5]}}\n{RULES}")
    ran = run("ask", "hello", "-r", rules)
    assert ran.out.startswith('error 404: {"error":{"message":"The model `gpt-4o` does not exist')
    assert ran.err == "(invalid)\n"


def test_a_stream_is_printed_as_sent(rules: Path) -> None:
    out = run("ask", "hello", "-r", rules, "--stream").out
    assert out.startswith('data: {"id":"chatcmpl-')
    assert out.endswith("data: [DONE]\n")


@pytest.mark.parametrize("dialect", discover_all())
def test_every_operation_of_every_dialect_is_shown_as_text_however_it_is_asked_for(dialect: str) -> None:
    served = {operation.name for operation in discover_all()[dialect].operations}
    for operation in served.intersection(BODIES):
        for flags in ((), ("--json",), ("--stream",)):
            ran = run("ask", "hi", "--dialect", dialect, "--operation", operation, *flags)
            shown = (operation, flags, ran)
            is_refused = "--stream" in flags and ran.err == "(invalid)\n"  # some providers know no stream of it
            assert ran.code == int(is_refused), shown
            is_sound = operation == "speech" and bool(flags) and dialect != "mistral"  # whose sounds are in JSON
            assert all(map(str.isprintable, ran.out.splitlines())) is not is_sound, shown


@pytest.mark.parametrize(
    ("dialect", "first", "last"),
    [
        ("ollama", '{"model":"llama3.2:latest",', '"eval_duration":90000000}'),
        ("bedrock", 'messageStart {"role":"assistant"}', '"totalTokens":16}}'),
        ("anthropic", "event: message_start", 'data: {"type":"message_stop"}'),
    ],
)
def test_each_kind_of_stream_is_printed_by_lines(dialect: str, first: str, last: str) -> None:
    lines = run("ask", "hi", "--dialect", dialect, "--stream").out.splitlines()
    assert lines[0].startswith(first)
    assert "".join(lines).endswith(last)


def test_an_answer_that_is_not_streamed_is_printed_whole_and_noted() -> None:
    ran = run("ask", "hi", "--dialect", "cohere", "--operation", "embeddings", "--stream")
    assert (ran.code, ran.err, next(iter(json.loads(ran.out)))) == (0, "(generated; not as a stream)\n", "id")


def test_sounds_go_to_files_as_they_are_and_are_described_to_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = ("ask", "Hello", "--operation", "speech", "--json")
    assert run(*ask).data.startswith(b"ID3")
    monkeypatch.setattr("mockserver.cli.ask.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    assert re.fullmatch(r"\([0-9.]+ kB that are no text; to keep them, append > FILE to the command\)\n", run(*ask).out)


@pytest.mark.parametrize(
    ("raw", "printed"),
    [
        ("{headers: {content-type: application/json}, body: '{no JSON'}", "{no JSON"),
        ('{headers: {content-type: application/x-ndjson}, body: "{}\\n{}\\n"}', "{}\n{}"),
        ("{headers: {content-type: text/event-stream}, frames: [a, b]}", "ab"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--json",)], ids=str)
def test_raw_bytes_are_printed_whatever_they_claim_to_be(
    rules: Path, raw: str, printed: str, flags: tuple[str, ...]
) -> None:
    rules.write_text(f"rules: [{{then: {{raw: {raw}}}}}]")
    ran = run("ask", "hello", "-r", rules, *flags)
    assert (ran.code, ran.out) == (0, f"{printed}\n")


MATCHING = """rules:
  - name: weather
    when: {last_user: "*weather*", tools: {includes: get_weather}}
    then: {text: sunny}
  - name: rest
    then: {text: well}
"""
BODY = {"model": "m", "messages": [{"role": "user", "content": "the weather?"}]}


@pytest.fixture
def matching(tmp_path: Path) -> Path:
    path = tmp_path / "matching.yaml"
    path.write_text(MATCHING)
    return path


def explain(matching: Path, content: object, *more: object) -> str:
    request = matching.parent / "request.json"
    request.write_text(json.dumps(content))
    ran = run("explain", request, matching, *more)
    return ran.out or ran.err


def test_explain_shows_every_rule_and_condition(matching: Path) -> None:
    out = explain(matching, BODY)
    assert out.startswith(f"answered by: rule {matching}:5 rest\n")
    assert f'{matching}:2 "weather" does not hold\n' in out
    assert f'{matching}:5 "rest" holds' in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == ["ok", "MISS"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            {"messages": []},
            "would refuse this request to /openai/v1/chat/completions: Missing required parameter: 'model'",
        ),
        ([1], "expected a JSON object: the body of a request, or method, path, headers and body"),
        ({"path": "/v1/chat/c", "body": BODY}, "no operation at /v1/chat/c; nearest: POST /v1/chat/completions"),
        ({"method": "PUT", "body": BODY}, "/openai/v1/chat/completions takes POST, GET, not PUT"),
    ],
)
def test_a_request_that_cannot_be_explained_is_one_line(matching: Path, content: object, error: str) -> None:
    out = explain(matching, content)
    assert error in out
    assert len(out.splitlines()) == 1


def test_other_operations_are_known_by_their_bodies(matching: Path) -> None:
    matching.write_text("rules:\n  - {name: hi, when: {operation: responses, last_user: hi}, then: {text: x}}\n")
    assert explain(matching, {"input": "hi"}).startswith(
        f"answered by: rule {matching}:2 hi  (at /openai/v1/responses)\n"
    )
    look_up = {"method": "GET", "path": "/v1/responses/resp_1"}
    assert explain(matching, look_up).startswith("answered by: generated  (at /v1/responses/resp_1)\n")


def test_each_of_several_prompts_is_explained(matching: Path) -> None:
    matching.write_text("rules:\n  - {name: north, when: {last_user: north}, then: {embedding: [0, 1]}}\n")
    out = explain(matching, {"model": "text-embedding-3-small", "input": ["north", "south"]})
    assert out == (
        f"answered by: rule {matching}:2 north, generated  (at /openai/v1/embeddings)\n"
        f'\nprompt 0: "north"\n\n{matching}:2 "north" holds\n'
        '  ok    last_user equals "north"\n'
        f'\nprompt 1: "south"\n\n{matching}:2 "north" does not hold\n'
        '  MISS  last_user equals "north": got "south"\n'
    )


def test_contents_are_geminis(matching: Path) -> None:
    out = explain(matching, {"contents": [{"parts": [{"text": "hi"}]}]})
    assert out.startswith(f"answered by: rule {matching}:")


def test_credentials_are_masked(matching: Path) -> None:
    matching.write_text("rules:\n  - {name: never, when: {last_user: never}, then: {text: x}}\n")
    body = {"model": "m", "messages": [{"role": "user", "content": "is SK-PROJ-0A1B2C mine?"}]}
    out = explain(matching, {"headers": {"authorization": "Bearer sk-proj-0a1b2c"}, "body": body})
    assert 'got "is sk-...(masked) mine?"' in out


def test_a_request_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.config.source.MAX_FILE", 2_000_000)
    ran = run("explain", "/dev/zero")
    assert (ran.code, ran.err) == (2, "mockserver: /dev/zero: cannot be read: it has more than 2 MB\n")
