"""The files of every recorder are imported and replayed to the official clients, whatever headers they still have."""

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from anthropic import Anthropic
from google import genai
from openai import OpenAI

from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.cassettes.convert.kit import ANSWER, ASKED, JSON, URL
from tests.cli.cassette.conftest import Place

Call = tuple[str, str, Any, bytes]  # method, URL, body of the request as JSON, and of the answer
Headers = Mapping[str, list[str]]


def events(*bodies: Any, named: bool = False) -> bytes:
    head = "event: {type}\n" if named else ""
    return "".join(f"{head.format_map(body)}data: {json.dumps(body)}\n\n" for body in bodies).encode()


def chunk(delta: Any, finish: str | None = None) -> Any:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


SAID = "Grüße, “you”"
PLAIN: Call = ("POST", URL, ASKED, json.dumps(ANSWER, separators=(",", ":")).encode())
STREAM: Call = (
    "POST", URL, {**ASKED, "stream": True},
    events(chunk({"role": "assistant", "content": SAID}), chunk({}, "stop")) + b"data: [DONE]\n\n",
)  # fmt: skip
MESSAGES: Call = (
    "POST",
    "https://api.anthropic.com/v1/messages",
    {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": True},
    events(
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-8",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
        named=True,
    ),
)
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models"
CONTENTS: Call = (
    "POST",
    f"{GEMINI}/gemini-2.5-flash:streamGenerateContent?alt=sse",
    {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    events(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP", "index": 0}]}
    ),
)
PAGE = json.dumps({"models": [{"name": "models/a"}], "nextPageToken": "Ch9tb2RlbHMvZ2VtaW5pLTIuNS1mbGFzaC1saXRl"})
CALLS: tuple[Call, ...] = (PLAIN, STREAM, MESSAGES, CONTENTS, ("GET", GEMINI, None, PAGE.encode()))


def typed(answer: bytes) -> Headers:
    return JSON if answer.startswith(b"{") else {"Content-Type": ["text/event-stream; charset=utf-8"]}


def untyped(answer: bytes) -> Headers:
    return {}


def redacted(answer: bytes) -> Headers:
    names = ("Content-Type", "Content-Length", "Content-Encoding", "Date")
    return {name: ["**REDACTED**"] for name in names}


Rows = list[dict[str, Any]]


def vcrpy_rows(headers: Callable[[bytes], Headers], *, packed: bool = False, of_bytes: bool = False) -> Rows:
    """The calls as vcrpy has them."""

    def request_of(asked: Any) -> Any:
        text = "" if asked is None else json.dumps(asked)
        return text.encode() if of_bytes else text

    return [
        {
            "request": {"method": method, "uri": url, "body": request_of(asked), "headers": dict(headers(b"{"))},
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": dict(headers(answer)),
                "body": {"string": gzip.compress(answer) if packed else answer if of_bytes else answer.decode()},
            },
        }
        for method, url, asked, answer in CALLS
    ]


def to_yaml(root: Any) -> bytes:
    return yaml.safe_dump(root, allow_unicode=True).encode()


def write_vcrpy(headers: Callable[[bytes], Headers]) -> bytes:
    return to_yaml({"version": 1, "interactions": vcrpy_rows(headers)})


def write_vcrpy_json(headers: Callable[[bytes], Headers]) -> bytes:
    return json.dumps({"version": 1, "interactions": vcrpy_rows(headers)}).encode()


def write_vcrpy_packed(headers: Callable[[bytes], Headers]) -> bytes:
    return to_yaml({"version": 1, "interactions": vcrpy_rows(headers, packed=True)})


def write_parsed_bodies(headers: Callable[[bytes], Headers], *, key: str = "parsed_body") -> bytes:
    """As pydantic-ai's serializer, which leaves streams as they are."""
    rows = vcrpy_rows(headers)
    for row, (_, _, asked, answer) in zip(rows, CALLS, strict=True):
        if asked is not None:
            del row["request"]["body"]
            row["request"][key] = asked
        if answer.startswith(b"{"):
            del row["response"]["body"]
            row["response"][key] = json.loads(answer)
    return to_yaml({"version": 1, "interactions": rows})


def write_mappings(headers: Callable[[bytes], Headers]) -> bytes:
    return write_parsed_bodies(headers, key="body")


def write_langchain(headers: Callable[[bytes], Headers]) -> bytes:
    rows = vcrpy_rows(headers, of_bytes=True)
    return to_yaml({kind: [row[kind.removesuffix("s")] for row in rows] for kind in ("requests", "responses")})


def write_langchain_packed(headers: Callable[[bytes], Headers]) -> bytes:
    return gzip.compress(write_langchain(headers))


def go_rows(headers: Callable[[bytes], Headers], more: Any, duration: str) -> Rows:
    return [
        {
            "request": {
                **more,
                "body": "" if asked is None else json.dumps(asked),
                "form": {},
                "headers": dict(headers(b"{")),
                "url": url,
                "method": method,
            },
            "response": {
                **more,
                "body": answer.decode(),
                "headers": dict(headers(answer)),
                "status": "200 OK",
                "code": 200,
                "duration": duration,
            },
        }
        for method, url, asked, answer in CALLS
    ]


def write_go_1(headers: Callable[[bytes], Headers]) -> bytes:
    return b"---\n" + to_yaml({"version": 1, "interactions": go_rows(headers, {}, "")})


def write_go_2(headers: Callable[[bytes], Headers]) -> bytes:
    more = {"proto": "HTTP/1.1", "proto_major": 1, "trailer": {}, "content_length": -1}
    rows = [{"id": at, **row} for at, row in enumerate(go_rows(headers, more, "1m0.5s"))]
    return b"---\n" + to_yaml({"version": 2, "interactions": rows})


def ruby_rows(headers: Callable[[bytes], Headers], coded: bool) -> Any:
    def body_of(text: str) -> Any:
        encoded = {"base64_string": b64encode(text.encode()).decode()}
        return {"encoding": "UTF-8", **(encoded if coded else {"string": text})}

    rows = [
        {
            "request": {
                "method": method.lower(),
                "uri": url,
                "body": body_of("" if asked is None else json.dumps(asked)),
                "headers": dict(headers(b"{")),
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": dict(headers(answer)),
                "body": body_of(answer.decode()),
            },
            "recorded_at": "Thu, 09 Oct 2025 08:53:20 GMT",
        }
        for method, url, asked, answer in CALLS
    ]
    return {"http_interactions": rows, "recorded_with": "VCR 6.3.1"}


def write_ruby(headers: Callable[[bytes], Headers]) -> bytes:
    return b"---\n" + to_yaml(ruby_rows(headers, coded=False))


def write_ruby_binary(headers: Callable[[bytes], Headers]) -> bytes:
    """As Ruby writes texts that are not ASCII, if it does not know their encoding."""
    root = ruby_rows(headers, coded=False)
    for row, (*_, answer) in zip(root["http_interactions"], CALLS, strict=True):
        row["response"]["body"] = {"encoding": "ASCII-8BIT", "string": answer}
    return to_yaml(root).replace(b"!!binary", b"!binary")


def write_ruby_base64(headers: Callable[[bytes], Headers]) -> bytes:
    return to_yaml(ruby_rows(headers, coded=True))


def write_ruby_json(headers: Callable[[bytes], Headers]) -> bytes:
    return json.dumps(ruby_rows(headers, coded=False)).encode()


def write_har(headers: Callable[[bytes], Headers]) -> bytes:
    def pairs_of(table: Headers) -> Any:
        return [{"name": name, "value": value} for name, values in table.items() for value in values]

    entries = [
        {
            "startedDateTime": "2025-10-09T08:53:20.000Z",
            "time": 12.5,
            "request": {
                "method": method,
                "url": url,
                "headers": pairs_of(headers(b"{")),
                **({} if asked is None else {"postData": {"mimeType": "x", "text": json.dumps(asked)}}),
            },
            "response": {"status": 200, "headers": pairs_of(headers(answer)), "content": {"text": answer.decode()}},
        }
        for method, url, asked, answer in CALLS
    ]
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


WRITERS: Mapping[str, Callable[[Callable[[bytes], Headers]], bytes]] = {
    "vcrpy.yaml": write_vcrpy,
    "vcrpy.json": write_vcrpy_json,
    "vcrpy-packed.yaml": write_vcrpy_packed,
    "parsed.yaml": write_parsed_bodies,
    "mappings.yml": write_mappings,
    "langchain.yaml": write_langchain,
    "langchain.yaml.gz": write_langchain_packed,
    "go-1.yaml": write_go_1,
    "go-2.yaml": write_go_2,
    "ruby.yml": write_ruby,
    "ruby-binary.yml": write_ruby_binary,
    "ruby-base64.yml": write_ruby_base64,
    "ruby.json": write_ruby_json,
    "log.har": write_har,
}


@contextmanager
def replaying(place: Place, file: str, data: bytes) -> Iterator[str]:
    """The address of a server that replays a file, which has been imported without a finding."""
    Path(file).write_bytes(data)
    ran = place.run("import", file, "--into", "it")
    assert (ran.code, ran.err) == (0, ""), ran
    assert ran.out == f"cassettes/it.yaml: {len(CALLS)} episodes from {file}\n"
    verified = place.run("verify")
    assert (verified.code, verified.out) == (0, f"1 cassette, {len(CALLS)} episodes, 0 findings\n")
    flags = {"port": 0, "cassette": "it", "cassettes": str(place.folder), "unmatched": "error"}
    with Running(start(Sources((), flags, {}))) as server:
        yield server.address


MOUNTS = {"api.openai.com": "", "api.anthropic.com": "/anthropic", "generativelanguage.googleapis.com": "/gemini"}


@pytest.mark.parametrize("headers", [typed, untyped, redacted], ids=lambda headers: headers.__name__)
@pytest.mark.parametrize("file", WRITERS)
def test_a_recording_replays(place: Place, file: str, headers: Callable[[bytes], Headers]) -> None:
    with replaying(place, file, WRITERS[file](headers)) as address:
        for method, url, asked, answer in CALLS:
            to = httpx.URL(url)
            reply = httpx.request(method, f"{address}{MOUNTS[to.host]}{to.raw_path.decode()}", json=asked)
            kind = "application/json" if answer.startswith(b"{") else "text/event-stream"
            assert (reply.status_code, reply.headers["content-type"].partition(";")[0]) == (200, kind)
            if answer.startswith(b"{"):
                assert reply.json() == json.loads(answer)
            else:
                assert reply.content == answer


@pytest.mark.parametrize("file", WRITERS)
def test_the_official_clients_read_it(place: Place, file: str) -> None:
    with replaying(place, file, WRITERS[file](untyped)) as address:
        openai = OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0)
        assert openai.chat.completions.create(**ASKED).choices[0].message.content == "Hello"
        chunks = openai.chat.completions.create(**ASKED, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SAID
        anthropic = Anthropic(base_url=f"{address}/anthropic", api_key="k", max_retries=0)
        asked = {name: value for name, value in MESSAGES[2].items() if name != "stream"}
        with anthropic.messages.stream(**asked) as stream:
            assert stream.get_final_text() == SAID
        google = genai.Client(api_key="k", http_options={"base_url": f"{address}/gemini"})
        found = google.models.generate_content_stream(model="gemini-2.5-flash", contents="hi")
        assert "".join(part.text or "" for part in found) == SAID


def test_a_duration_and_a_time_are_kept(place: Place) -> None:
    with replaying(place, "go.yaml", write_go_2(typed)):
        assert {episode.reply.took for episode in place.episodes("it")} == {60.5}
    (place.folder / "it.yaml").unlink()
    with replaying(place, "ruby.yml", write_ruby(typed)):
        assert {episode.at for episode in place.episodes("it")} == {1760000000}


def test_a_list_that_is_longer_than_the_other_is_reported(place: Place) -> None:
    root = yaml.safe_load(write_langchain(typed))
    del root["responses"][-1]
    Path("torn.yaml").write_bytes(to_yaml(root))
    ran = place.run("import", "torn.yaml")
    assert ran.code == 1
    assert ran.err.endswith(": request 5: it has no response\n")


def test_a_page_token_that_is_a_key_is_left_out(place: Place) -> None:
    key = "AIzaSyD9x2Kq7Lm4Nv8Rb1Tz6Wc3Yf5Gh0JpQsU"
    data = write_vcrpy(typed).replace(b"Ch9tb2RlbHMvZ2VtaW5pLTIuNS1mbGFzaC1saXRl", key.encode())
    Path("a.yaml").write_bytes(data)
    ran = place.run("import", "a.yaml")
    assert ran.code == 1
    assert "$.nextPageToken: AIza...(masked) looks like a secret (Google key)" in ran.err
    assert key not in (place.folder / "a.yaml").read_text()


def test_pages_are_told_apart_by_their_tokens(place: Place) -> None:
    tokens = ("Ch9tb2RlbHMvZ2VtaW5pLTIuNS1mbGFzaC1saXRl", "Ch9tb2RlbHMvZ2VtaW5pLTIuNS1mbGFzaC1wcmVz")
    rows = [
        {
            "request": {"method": "GET", "uri": f"{GEMINI}?{name}={token}", "body": None, "headers": {}},
            "response": {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps({"models": [token]})}},
        }
        for name in ("pageToken", "page_token")
        for token in tokens
    ]
    Path("a.yaml").write_bytes(to_yaml({"interactions": rows}))
    assert place.run("import", "a.yaml").code == 0
    sent = [episode.request.query for episode in place.episodes("a")]
    assert sent == [f"{name}={token}" for name in ("pageToken", "page_token") for token in tokens]
