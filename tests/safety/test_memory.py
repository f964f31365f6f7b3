"""Memory has a bound: what clients do not read is not made, and beyond `max_unsent` requests get a 503."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import httpx
import pytest
from pydantic_core import to_json

from mockserver.core.lazy import LazySequence
from mockserver.dialects._reply import LARGE_BODY, _write_pieces, make_json_reply
from mockserver.testing import MockServer
from tests.kit.raw import GET, Raw, RawResponse, post
from tests.kit.served import Served, served

MAX_COUNT = 40_000_000  # max_unsent of the flooded server
ALLOWED = 130_000_000  # bytes by which it may grow: the objects of Python come on top of what is counted
CUT_AT = 300_000
RULES = """
rules:
  - when: {operation: embeddings, model: cut}
    then: {faults: [{cut: {after_bytes: 300000}}]}
  - when: {operation: embeddings, model: gone}
    then: {faults: [{disconnect: {after_bytes: 300000}}]}
  - when: {model: kept}
    then: {text: "{{ 'x' * 20000 }}"}
"""


def embeddings(inputs: int, model: str = "text-embedding-3-large", *headers: str, version: str = "1.1") -> bytes:
    body = to_json({"model": model, "input": [f"text {number}" for number in range(inputs)]})
    return post(body, *headers, path="/v1/embeddings", version=version)


def chat(**more: object) -> bytes:
    text = "Write a story of 3000 words"
    return post(json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode())


FLOODS = {
    "embeddings": (embeddings(2048), 30),
    "base64": (
        post(to_json({"model": "3-large", "input": ["a"] * 2048, "encoding_format": "base64"}), path="/v1/embeddings"),
        30,
    ),
    "choices": (chat(n=32, logprobs=True, top_logprobs=20), 12),
    "choices in a stream": (chat(n=32, logprobs=True, top_logprobs=20, stream=True), 12),
    "values": (post(b'{"model":"m","messages":[],"x":[' + b"[]," * 1_000_000 + b"[]]}"), 12),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES, log="none") as running:
        yield running


def asked(server: Served, request: bytes, *, to: str = "POST") -> RawResponse:
    with Raw(server.port) as line:
        return line.send(request).receive(to=to)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOODS)
def test_clients_that_do_not_read_cost_little(kind: str) -> None:
    request, clients = FLOODS[kind]
    with served(log="none", flags=["--max-unsent", str(MAX_COUNT)]) as server, ExitStack() as open_lines:
        assert asked(server, embeddings(1)).status == 200
        before = server.memory("VmRSS")
        lines = [open_lines.enter_context(Raw(server.port, receive_buffer=4096)) for _ in range(clients)]
        for line in lines:
            line.send(request)
        statuses = {line.socket.recv(12)[9:] for line in lines}  # each is being answered now
        assert asked(server, GET).status in (200, 503)
        assert server.memory("VmHWM") - before < ALLOWED
        assert statuses <= {b"200", b"400", b"503"}


@pytest.mark.slow
def test_beyond_the_bound_is_a_503_until_clients_read_or_leave() -> None:
    with served(log="none", flags=["--max-unsent", "2MB"]) as server, ExitStack() as open_lines:
        for _ in count():
            line = open_lines.enter_context(Raw(server.port, receive_buffer=4096))
            if line.send(embeddings(300)).socket.recv(12).endswith(b"503"):
                break
        refused = asked(server, embeddings(300))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert "max_unsent" in refused.json["error"]["message"]
        open_lines.close()
        while asked(server, embeddings(300)).status == 503:
            pass


def test_an_answer_that_is_alone_is_always_sent() -> None:
    with served(log="none", flags=["--max-unsent", "1KB"]) as server:
        assert len(asked(server, embeddings(100)).json["data"]) == 100


def test_a_large_body_is_right_in_every_version_of_http(server: Served) -> None:
    received = asked(server, embeddings(40))
    assert received.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in received.headers
    assert len(received.body) > LARGE_BODY
    assert to_json(received.json) == received.body
    alone = asked(server, embeddings(1))
    assert alone.headers["content-length"] == str(len(alone.body))
    assert received.json["data"][0] == alone.json["data"][0]
    with Raw(server.port) as line:
        old = line.send(embeddings(40, version="1.0")).rest()
    head, _, body = old.partition(b"\r\n\r\n")
    assert body == received.body
    assert b"chunked" not in head


def test_faults_cut_a_large_body_where_they_say(server: Served) -> None:
    whole = asked(server, embeddings(40, "whole")).body
    cut = asked(server, embeddings(40, "cut"))
    assert cut.headers["content-length"] == str(CUT_AT)
    assert cut.body == whole[:CUT_AT].replace(b"whole", b"cut")
    with Raw(server.port) as line:
        head, _, body = line.send(embeddings(40, "gone")).rest().partition(b"\r\n\r\n")
    assert f"content-length: {len(whole) - 1}".encode() in head.lower()  # "gone" is shorter than "whole"
    assert body == whole[:CUT_AT]


def test_a_long_list_of_stored_answers_is_right(server: Served) -> None:
    one = {"model": "kept", "messages": [{"role": "user", "content": "x"}], "store": True}
    for number in range(20):
        assert asked(server, post(to_json({**one, "seed": number}))).status == 200
    listing = b"GET /v1/chat/completions?limit=100&model=kept HTTP/1.1\r\nhost: x\r\n\r\n"
    with Raw(server.port) as line:
        received = line.send(listing).receive()
        assert received.headers["transfer-encoding"] == "chunked"
        assert to_json(received.json) == received.body
        assert [len(each["choices"][0]["message"]["content"]) for each in received.json["data"]] == [20_000] * 20
        assert line.send(listing.replace(b"GET", b"HEAD")).receive(to="HEAD").status == 200
        assert line.is_open()


def test_the_journal_is_listed_as_it_is_read(server: Served) -> None:
    assert asked(server, embeddings(40)).status == 200
    listing = b"GET /__mockserver__/api/calls?bodies=true HTTP/1.1\r\nhost: localhost\r\n\r\n"
    received = asked(server, listing)
    assert received.json["calls"]
    assert received.body.decode() == json.dumps(received.json, ensure_ascii=False, indent=2) + "\n"


def test_a_client_in_the_process_gets_the_same_bytes(server: Served) -> None:
    request = embeddings(40)
    with httpx.Client(transport=MockServer(unmatched="generate").transport(), base_url="http://127.0.0.1") as client:
        body = request.partition(b"\r\n\r\n")[2]
        received = client.post("/v1/embeddings", content=body, headers={"content-type": "application/json"})
    assert received.content == asked(server, request).body


def test_a_recorded_large_body_is_the_same(server: Served, tmp_path: Path) -> None:
    flags = ("--cassettes", str(tmp_path), "--cassette", "large")
    to = ("--upstream", f"openai={server.base('openai')}", "--record", "once")
    with served(log="none", flags=[*flags, *to]) as relay:
        recorded = asked(relay, embeddings(40))
    with served(log="none", flags=flags) as player:
        replayed = asked(player, embeddings(40))
    assert recorded.body == replayed.body == asked(server, embeddings(40)).body
    assert replayed.headers["content-length"] == str(len(replayed.body))


def test_numbers_of_a_vector_are_written_at_once() -> None:
    entries = LazySequence(lambda: ({"embedding": [0.5] * 3072} for _ in range(100)), 100)
    assert len(list(_write_pieces({"data": entries}))) < 5 * len(entries)


@pytest.mark.parametrize("size", [0, 1, 17, 60_000])
def test_a_lazy_list_has_the_bytes_of_a_list(size: int) -> None:
    made: list[int] = []

    def make() -> Iterator[dict[str, int]]:
        for number in range(size):
            made.append(number)
            yield {"number": number}

    reply = make_json_reply(200, {"a": 1, "deep": {"data": [LazySequence(make, size)]}, "b": "é"})
    if reply.pieces is not None:
        assert len(made) < size
    whole = {"a": 1, "deep": {"data": [[{"number": number} for number in range(size)]]}, "b": "é"}
    assert reply.body + b"".join(reply.pieces or ()) == to_json(whole)


def test_large_requests_that_are_refused_are_forgotten(server: Served) -> None:
    def ask(number: int) -> bytes:
        name = f"{number} " + "x" * 3_000_000
        schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        return post(
            json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}).encode()
        )

    before = server.memory("VmRSS")
    for number in range(12):
        with Raw(server.port) as line:
            assert line.send(ask(number)).receive().status == 400
    assert server.memory("VmRSS") - before < 150_000_000
