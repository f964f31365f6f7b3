"""Recordings of vcrpy, HAR files and journals become episodes; what cannot is reported."""

import gzip
import json
import time
from base64 import b64encode
from typing import Any

import httpx
import pytest

from mockserver.cassettes.convert.imports import (
    FORMATS,
    Skipped,
    UnreadableError,
    episode_of,
    exchanges_in,
    header_pairs,
    import_file,
    split_events,
    timestamp,
)
from mockserver.cassettes.format import HEAD
from mockserver.cassettes.parse_response import parse_response
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode, header_value
from tests.cassettes.convert.kit import ANSWER, ASKED, KNOWN, STREAM, URL, exchange, interaction
from tests.kit.served import served


def test_headers_become_pairs() -> None:
    assert header_pairs({"A": ["1", "2"], "B": "3", "C": [b"4"]}) == (("a", "1"), ("a", "2"), ("b", "3"), ("c", "4"))
    assert header_pairs([{"name": "A", "value": "1"}, {"name": ":path", "value": "/"}, 3]) == (("a", "1"),)
    assert header_pairs({"a\ud800": "1", "é": "2", "": "3", "b": "\ud800"}) == (("b", "?"),)
    assert header_pairs(None) == ()
    with pytest.raises(UnreadableError, match="its headers are not a table"):
        header_pairs("a: b")
    assert header_value((("a", "1"), ("b", "2"), ("a", "3")), "a") == "1, 3"


def test_moments_are_in_utc_where_they_do_not_say() -> None:
    assert timestamp("2025-01-01T00:00:00") == timestamp("2025-01-01T01:00:00+01:00") == 1735689600
    assert timestamp("yesterday") == timestamp(None) == timestamp(3) == 0.0


NONE = f"unknown format; you can import {FORMATS}"
BAD: list[tuple[bytes, str]] = [
    (b"", "a: cannot be imported: the file is empty"),
    (b"\xff\xfe\x00", "a: cannot be imported: byte 0 is not UTF-8"),
    (b"{", "a:1:2: cannot be imported: not JSON: Expecting property name enclosed in double quotes"),
    (b"{}", f"a: {NONE}"),
    (b'[{"a": 1}]', f"a: {NONE}"),
    (b"hello", f"a: {NONE}"),
    (b"[" * 100_000, "a: cannot be imported: its JSON is nested too deep"),
    (b"- " * 5_000 + b"a", "a:1:201: this is nested more than 100 levels deep; make it flatter"),
    (b'{"log": {"entries": 3}}', f"a: {NONE}"),
    (b"!!python/object/apply:os.system ['touch /tmp/x']", 'the tag "!!python/object/apply:os.system" does not fit'),
]


@pytest.mark.parametrize(("data", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_recording_is_one_clear_error(data: bytes, words: str) -> None:
    with pytest.raises(CassetteError) as caught:
        list(exchanges_in(data, "a"))
    assert words in str(caught.value.mistakes[0])


def test_a_cassette_of_our_own_is_told() -> None:
    for head in (HEAD, "version: 1\n", "---\nversion: 2\n"):
        with pytest.raises(
            CassetteError, match="this is a mockserver cassette already: move it into the cassettes folder"
        ):
            list(exchanges_in(f"{head}---\nreply: 1\n".encode(), "a"))


YAML = """interactions:
- request: &one
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    body: '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}'
    headers: {Content-Type: [application/json]}
  response: &two
    status: {code: 200, message: OK}
    headers: {Content-Type: [application/json]}
    body: {string: %s}
- request: *one
  response: !!python/object:some.Response
    status: 200
- request: *one
  response: *two
version: 1
"""


def test_a_python_tag_costs_its_own_interaction_only() -> None:
    found = import_file((YAML % json.dumps(json.dumps(ANSWER))).encode(), "a.yaml", KNOWN)
    assert len(found.episodes) == 2
    (left,) = found.skipped
    assert left.where == "a.yaml:11: interaction 2"
    assert left.why.startswith('line 12: the tag "!!python/object:some.Response" does not fit here')


def test_an_alias_bomb_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]
    began = time.perf_counter()
    with pytest.raises(CassetteError, match="aliases"):
        list(exchanges_in("\n".join([*rows, "interactions: *a9"]).encode(), "a"))
    assert time.perf_counter() - began < 5


def test_json_of_every_kind_is_told_apart() -> None:
    def count(root: Any) -> int:
        return len(list(exchanges_in(json.dumps(root).encode(), "a")))

    assert count({"interactions": [interaction()], "version": 1}) == 1
    assert count([interaction(), interaction()]) == 2
    assert count({"http_interactions": [interaction()]}) == 1
    assert count({"log": {"entries": [{}, {}, 3]}}) == 3
    assert count({"calls": [{}, 3]}) == 2
    assert count({"call": 1, "reply": {}}) == 1


EVENTS = (("content-type", "text/event-stream; charset=utf-8"),)


def taken(**changed: object) -> Episode:
    made = episode_of(exchange(**changed), KNOWN)
    assert isinstance(made, Episode), made
    return made


def left(**changed: object) -> str:
    made = episode_of(exchange(**changed), KNOWN)
    assert isinstance(made, Skipped)
    return made.why


def test_headers_of_the_way_are_left_behind() -> None:
    headers = (("host", "a"), ("content-length", "3"), ("transfer-encoding", "chunked"), ("x-request-id", "r"))
    made = taken(headers=headers, reply_headers=(*headers, ("date", "Thu, 09 Oct 2025 08:53:20 GMT")))
    assert made.request.headers == (("x-request-id", "r"),)
    assert (made.reply.headers[0], made.at) == (("x-request-id", "r"), 1760000000)


@pytest.mark.parametrize("coded", [True, False])
def test_codings_come_off_where_they_are_still_on(coded: bool) -> None:
    body = json.dumps(ANSWER).encode()
    headers = (("content-encoding", "gzip"), ("content-type", "application/json"))
    made = taken(reply=gzip.compress(body) if coded else body, reply_headers=headers)
    assert made.reply.body == body
    assert made.reply.headers == (("content-type", "application/json"),)


def test_a_joined_stream_is_split_at_the_ends_of_its_events() -> None:
    made = taken(reply=STREAM, reply_headers=EVENTS)
    assert made.reply.frames is not None
    assert [at for at, _ in made.reply.frames] == [0.0, 0.0]
    assert made.reply.bytes == STREAM
    assert [data for _, data in split_events(b"a\r\n\r\nb\r\rc\n\n\nd")] == [b"a\r\n\r\n", b"b\r\r", b"c\n\n\n", b"d"]


def test_the_model_of_a_deployment_stands_in_its_path() -> None:
    url = "https://a.openai.azure.com/openai/deployments/mine/chat/completions?api-version=1"
    assert (taken(url=url, body=b"{}").model, taken(url=url, body=b"{}").request.query) == ("mine", "api-version=1")


def test_what_is_unfit_is_told() -> None:
    assert left(status=0) == "its answer cannot be replayed (status 0)"
    assert left(status=302) == "its answer cannot be replayed (status 302)"
    assert left(reply=b"") == "the recording lacks the body of its answer"
    assert left(reply=b"", reply_headers=EVENTS) == "the recording lacks the body of its stream"
    coded = (("content-encoding", "gzip"),)
    assert left(reply=b"\xff\xfe", reply_headers=coded).startswith("the body of its answer cannot be decoded: The body")
    assert left(reply=b"\xff\xfe", reply_headers=(("content-encoding", "zzz"),)).startswith("the body of its answer")
    assert left(url="http://[a/v1") == "'http://[a/v1' is not a URL"


def test_what_a_tool_knows_of_the_beat_stays() -> None:
    assert taken(events=((0.5, b"data: a\n\n"),), took=0.7).reply.frames == ((0.5, b"data: a\n\n"),)


def test_what_cannot_be_taken_over_does_not_stop_the_rest() -> None:
    rows = [
        interaction(),
        interaction(request={"uri": "https://example.com/a"}),
        interaction(request={"uri": "https://api.openai.com/v1/files"}),
        interaction(body={"string": ""}),
        interaction(request={"uri": "https://example.com/b"}),
        interaction(request={"uri": "https://api.skytells.ai/v1/chat/completions"}),
    ]
    found = import_file(json.dumps({"interactions": rows}).encode(), "a.json", KNOWN)
    assert [(one.dialect, one.operation, one.model) for one in found.episodes] == [
        ("openai", "chat", "gpt-4o"),
        ("skytells", "chat", "gpt-4o"),
    ]
    assert parse_response(found.episodes[0].reply, "chat").choices[0].joined("text") == "Hello"
    assert [(left.where, left.why) for left in found.skipped] == [
        ("a.json: interaction 3", "openai has no POST /v1/files"),
        ("a.json: interaction 4", "the recording lacks the body of its answer"),
    ]
    assert found.unknown_hosts == (("example.com", 2),)


def test_a_dialect_that_is_given_is_that_of_all() -> None:
    rows = [interaction(request={"uri": "https://gateway.corp/llm/v1/chat/completions"})]
    data = json.dumps({"interactions": rows}).encode()
    (one,) = import_file(data, "a.json", KNOWN, "tzafon").episodes
    assert (one.dialect, one.request.path) == ("tzafon", "/tzafon/v1/chat/completions")


BODY = json.dumps(ANSWER).encode()

PYTEST_RECORDING = """interactions:
- request:
    body: '{"messages": [{"role": "user", "content": "Say \\u00e9"}], "model": "gpt-4o",
      "stream": true}'
    headers:
      accept:
      - application/json
      content-type:
      - application/json
    method: POST
    uri: https://api.openai.com/v1/chat/completions
  response:
    body:
      string: 'data: {"choices": [{"index": 0, "delta": {"content": "é"}}]}


        data: [DONE]


        '
    headers:
      content-type:
      - text/event-stream; charset=utf-8
      date:
      - Thu, 09 Oct 2025 08:53:20 GMT
    status:
      code: 200
      message: OK
version: 1
"""


def vcr_taken(data: bytes) -> Episode:
    found = import_file(data, "a", KNOWN)
    assert not found.skipped, found.skipped
    return found.episodes[0]


def test_pytest_recording_with_a_stream() -> None:
    made = vcr_taken(PYTEST_RECORDING.encode())
    assert made.reply.frames is not None
    assert [data for _, data in made.reply.frames] == [
        'data: {"choices": [{"index": 0, "delta": {"content": "é"}}]}\n\n'.encode(),
        b"data: [DONE]\n\n",
    ]
    assert (
        made.request.body
        == b'{"messages": [{"role": "user", "content": "Say \\u00e9"}], "model": "gpt-4o", "stream": true}'
    )
    assert (made.at, made.model) == (1760000000, "gpt-4o")


def test_a_gzipped_body_in_binary() -> None:
    coded = b64encode(gzip.compress(BODY)).decode()
    text = "interactions:\n- request:\n    method: POST\n    uri: https://api.openai.com/v1/chat/completions\n"
    text += f"    body: !!binary |\n      {b64encode(json.dumps(ASKED).encode()).decode()}\n    headers: {{}}\n"
    text += (
        f"  response:\n    status: {{code: 200, message: OK}}\n    body:\n      string: !!binary |\n        {coded}\n"
    )
    text += "    headers:\n      Content-Encoding: [gzip]\n      Content-Type: [application/json]\nversion: 1\n"
    made = vcr_taken(text.encode())
    assert (made.reply.body, made.request.body) == (BODY, json.dumps(ASKED).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"body": {"string": BODY.decode()}},
        {"body": {"base64_string": b64encode(BODY).decode()}},
        {"body": BODY.decode()},
        {"body": {"encoding": "UTF-8", "string": BODY.decode()}},
        {"body": None, "content": BODY.decode()},
    ],
)
def test_bodies_come_in_many_ways(body: Any) -> None:
    row = interaction(**body)
    if row["response"].get("content"):
        del row["response"]["body"]
    assert vcr_taken(json.dumps({"interactions": [row]}).encode()).reply.body == BODY


def test_json_that_was_parsed_is_written_again() -> None:
    row = interaction(parsed_body=ANSWER, request={"parsed_body": ASKED})
    made = vcr_taken(json.dumps({"interactions": [row]}).encode())
    assert json.loads(made.reply.body) == ANSWER
    assert json.loads(made.request.body) == ASKED


def test_a_stream_of_json_is_one_too() -> None:
    row = interaction(body={"string": STREAM.decode()}, headers={"Content-Type": "text/event-stream"})
    assert len(vcr_taken(json.dumps({"interactions": [row]}).encode()).reply.frames or ()) == 2


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"request": 3, "response": {}}, "it has no request and response"),
        ({"request": {"method": "POST"}, "response": {}}, "its request has no uri"),
        (interaction(body={"a": 1}), "its body is neither text nor base64"),
        (interaction(body={"base64_string": "*"}), "its body is not valid base64"),
        (interaction(headers=3), "its headers are not a table"),
        (interaction(status={}), "its answer cannot be replayed (status 0)"),
    ],
)
def test_vcr_what_is_unfit_is_told(row: Any, why: str) -> None:
    (left,) = import_file(json.dumps({"interactions": [row]}).encode(), "a", KNOWN).skipped
    assert (left.where, left.why) == ("a: interaction 1", why)


def entry(**response: Any) -> dict[str, Any]:
    return {
        "startedDateTime": "2025-10-09T10:53:20.000+02:00",
        "time": 812.5,
        "request": {
            "method": "POST",
            "url": URL,
            "headers": [{"name": ":authority", "value": "api.openai.com"}, {"name": "X-A", "value": "b"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(ASKED)},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"size": 1, "mimeType": "application/json", "text": json.dumps(ANSWER)},
            **response,
        },
    }


def read(*entries: Any) -> Any:
    return import_file(json.dumps({"log": {"entries": entries}}).encode(), "a.har", KNOWN)


def har_taken(*entries: Any) -> Episode:
    found = read(*entries)
    assert not found.skipped, found.skipped
    made: Episode = found.episodes[0]
    return made


def test_an_entry_of_chrome() -> None:
    made = har_taken(entry())
    assert (made.at, made.reply.took, made.request.headers) == (1760000000, 0.8125, (("x-a", "b"),))
    assert json.loads(made.reply.body) == ANSWER


def test_an_entry_of_mitmproxy_in_base64_without_headers() -> None:
    content = {"mimeType": "text/event-stream", "text": b64encode(STREAM).decode(), "encoding": "base64"}
    made = har_taken(entry(content=content, headers=[]))
    assert (made.reply.bytes, len(made.reply.frames or ())) == (STREAM, 2)


def test_beats_are_taken_where_they_fit() -> None:
    content = {"mimeType": "text/event-stream", "text": STREAM.decode()}
    first = STREAM.index(b"\n\n") + 2
    beats = [[300, first], [310, len(STREAM) - first]]
    kind = [{"name": "content-type", "value": "text/event-stream"}]
    made = har_taken(entry(content=content, headers=kind, _beats=beats))
    assert [at for at, _ in made.reply.frames or ()] == [0.3, 0.31]
    for wrong in ([[300, 3]], [[300, -1], [1, len(STREAM) + 1]], 3, [3], [["a", 1]]):
        again = har_taken(entry(content=content, headers=kind, _beats=wrong))
        assert [at for at, _ in again.reply.frames or ()] == [0.0, 0.0]


def test_a_form_is_written_again() -> None:
    row = entry()
    row["request"]["postData"] = {"mimeType": "x", "params": [{"name": "a", "value": "b c"}]}
    assert har_taken(row).request.body == b"a=b+c"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (3, "it has no request"),
        ({"request": {}}, "it has no response"),
        ({"request": {}, "response": {}}, "its request has no url"),
        (entry(content={"text": "*", "encoding": "base64"}), "its content is not valid base64"),
        (entry(content={}), "the recording lacks the body of its answer"),
        (entry(status=0), "its answer cannot be replayed (status 0)"),
        (entry(status="200"), "its answer cannot be replayed (status 0)"),
    ],
)
def test_har_what_is_unfit_is_told(row: Any, why: str) -> None:
    (left,) = read(row).skipped
    assert (left.where, left.why) == ("a.har: entry 1", why)


RULES = 'rules: [{then: {text: "Hi there, \\"you\\"."}}]'


def test_a_journal_of_a_server() -> None:
    with served(RULES) as server:
        for stream in (False, True):
            url = f"{server.address}/ns/a/tzafon/v1/chat/completions?x=1"
            httpx.post(url, json={**ASKED, "stream": stream}, headers={"authorization": "Bearer sk-0123456789"})
        httpx.get(f"{server.address}/nowhere")
        api = f"{server.address}/__mockserver__/api/calls"
        journal = httpx.get(f"{api}?bodies=true&namespace=*").content
        one = httpx.get(f"{api}/2").content
    found = import_file(journal, "a.json", KNOWN)
    plain, streamed = found.episodes
    assert (plain.dialect, plain.request.path, plain.request.query) == ("tzafon", "/tzafon/v1/chat/completions", "x=1")
    for made in (plain, streamed):
        assert parse_response(made.reply, "chat").choices[0].joined("text") == 'Hi there, "you".'
        assert parse_response(made.reply, "chat").complete
    assert streamed.reply.frames is not None
    assert streamed.reply.frames[-1] == (streamed.reply.frames[-1][0], b"data: [DONE]\n\n")
    assert streamed.at > 1_700_000_000
    assert b"0123456789" not in journal
    assert import_file(one, "a.json", KNOWN).episodes == (streamed,)
    assert [left.why for left in found.skipped] == ["openai has no GET /nowhere"]


def call(**changed: Any) -> dict[str, Any]:
    request = {"method": "POST", "path": "/v1/chat/completions", "query": {}, "headers": {}, "body": ASKED}
    reply = {"status": 200, "headers": {"x-mockserver-source": "a", "content-type": "application/json"}, "body": {}}
    whole = {"call": 7, "dialect": "openai", "ended": "complete", "request": request, "reply": reply}
    return {**whole, **changed}


def test_events_are_written_as_they_were_sent() -> None:
    frames = [
        {"at_ms": 1, "data": ": wait"},
        {"at_ms": 2, "event": "a", "data": {"b": "é"}},
        {"at_ms": 3, "data": "c\nd"},
    ]
    reply = {"status": 200, "headers": {"content-type": "text/event-stream"}, "frames": frames}
    (made,) = import_file(json.dumps({"calls": [call(reply=reply)]}).encode(), "a", KNOWN).episodes
    assert made.reply.frames == (
        (0.001, b": wait\n\n"),
        (0.002, 'event: a\ndata: {"b":"é"}\n\n'.encode()),
        (0.003, b"data: c\ndata: d\n\n"),
    )
    (plain,) = import_file(json.dumps({"calls": [call()]}).encode(), "a", KNOWN).episodes
    assert plain.reply.headers == (("content-type", "application/json"),)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"request": None}, "it has no bodies: ask for calls?bodies=true"),
        ({"ended": "client left after 3 frames"}, "its answer is incomplete: client left after 3 frames"),
        ({"reply": {"cut_off": "after 1 of 2 bytes"}}, "the journal did not keep all of it"),
        ({"reply": {"status": 200, "frames": [3]}}, "its frames are not a list of tables"),
    ],
)
def test_journal_what_is_unfit_is_told(changed: Any, why: str) -> None:
    (left,) = import_file(json.dumps({"calls": [call(**changed)]}).encode(), "a", KNOWN).skipped
    assert (left.where, left.why) == ("a: call 7", why)
