"""Recordings of other tools become episodes; what cannot is reported."""

import gzip
import json
import time
from base64 import b64encode
from typing import Any

import pytest
import yaml

from mockserver.cassettes import recordings
from mockserver.cassettes.convert import import_file, split_events
from mockserver.cassettes.format import HEAD
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from tests.cassettes.convert.kit import ANSWER, ASKED, JSON, KNOWN, STREAM, URL, interaction

BODY = json.dumps(ANSWER).encode()
EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
DATE = "Thu, 09 Oct 2025 08:53:20 GMT"
TOOLS = "you can import files of HAR, langchain-tests, VCR for Ruby, go-vcr, vcrpy and nock"
UNKNOWN = "not written by a known recorder"
REMEDY = "restore it, or record it again"
VCR = json.dumps({"interactions": [interaction()], "version": 1}).encode()
PACKED = gzip.compress(VCR, mtime=0)
BAD: list[tuple[bytes, str]] = [
    (b"", f"a: the file is empty: {REMEDY}"),
    (b"ab\xff\x00", "a: not a recording: there is binary data at byte 2"),
    ("é".encode("utf-16"), "a: the file is in UTF-16: save it as UTF-8"),
    (b"PK\x03\x04\xff", "a: the file is packed with zip: unpack it first"),
    (b"(\xb5/\xfd\xff", "a: the file is packed with zstd: unpack it first"),
    (PACKED[:-5], f"a: the gzip file is cut off after {len(PACKED) - 5} bytes: {REMEDY}"),
    (PACKED[:30] + b"\xff" * 9 + PACKED[39:], f"a: the gzip file is damaged: {REMEDY}"),
    (PACKED + b"more", f"a: the gzip file is damaged: {REMEDY}"),
    (gzip.compress(b""), f"a: the file is empty: {REMEDY}"),
    (b"{", f"a:1:2: the file breaks off in the middle of its JSON: {REMEDY}"),
    (VCR[:-30], f": the file breaks off in the middle of its JSON: {REMEDY}"),
    (
        b'{"interactions": [,]}',
        "a:1:19: the file is not valid JSON here (Expecting value): correct it, or ",
    ),
    (b"{}", f"a: {UNKNOWN}: it has no keys; {TOOLS}"),
    (b'{"a": 1, "b": 2}', f'a: {UNKNOWN}: it has "a", "b"; {TOOLS}'),
    (b'[{"a": 1}]', f'a: {UNKNOWN}: a list of items that have "a"; {TOOLS}'),
    (b"[1]", f"a: {UNKNOWN}: a list; {TOOLS}"),
    (b"hello", f"a: {UNKNOWN}: plain text; {TOOLS}"),
    (
        b"interactions: [{ask: 1}]",
        f'a: {UNKNOWN}: its interactions have "ask", but no request; {TOOLS}',
    ),
    (b"requests: [1]", f'a: {UNKNOWN}: it has "requests"; {TOOLS}'),
    (
        b"a: [1",
        f'a: {UNKNOWN}: plain text; {TOOLS}; read as YAML: a:1:4: this "[" is never closed.',
    ),
    (b"[" * 100_000, "a: its JSON is nested too deeply"),
    (b"- " * 5_000 + b"a", "a:1:201: this is nested more than 100 levels deep; flatten it"),
    (b'{"log": {"entries": 3}}', f'a: {UNKNOWN}: it has "log"; {TOOLS}'),
    (b"requests:\n- uri: 'https", f"a:2:8: this quote is never closed. Does the file break off here? Then {REMEDY}"),
    (b"!!python/object/apply:os.system ['touch /tmp/x']", f"a: {UNKNOWN}: plain text; {TOOLS}"),
    (b"interactions:\n- request: {}\n  response: !!js/function a\n", 'a:3:13: the tag "!!js/function" is not allowed'),
    *(
        (f"{head}---\nreply: 1\n".encode(), "this is a mockserver cassette already: move it into the cassettes folder")
        for head in (HEAD, "version: 1\n", "---\nversion: 2\n")
    ),
]


@pytest.mark.parametrize(("data", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_recording_is_one_clear_error(data: bytes, words: str) -> None:
    with pytest.raises(CassetteError) as caught:
        import_file(data, "a", KNOWN)
    assert words in str(caught.value.mistakes[0])


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MAX_UNPACKED", 5_000_000)
    with pytest.raises(CassetteError, match=r"^a: larger than 5 MB when unpacked: split it into smaller files$"):
        import_file(gzip.compress(bytes(50_000_000)), "a", KNOWN)


def test_an_alias_bomb_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]
    began = time.process_time()
    with pytest.raises(CassetteError, match="aliases"):
        import_file("\n".join([*rows, "interactions: *a9"]).encode(), "a", KNOWN)
    assert time.process_time() - began < 5


def taken(root: Any) -> Episode:
    found = import_file(json.dumps(root).encode(), "a", KNOWN)
    assert found.skipped == ()
    return found.episodes[0][1]


def vcr(**changed: Any) -> Episode:
    return taken({"interactions": [interaction(**changed)]})


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


def make_har(row: Any) -> Episode:
    return taken({"log": {"entries": [row]}})


def test_a_cassette_of_pytest_recording() -> None:
    asked = b'{"messages": [{"role": "user", "content": "Say \\u00e9"}], "model": "gpt-4o"}'
    row = interaction(request={"body": gzip.compress(asked), "headers": {"Content-Encoding": ["gzip"]}})
    streamed = interaction(
        body={"string": STREAM.decode()}, headers={**EVENTS, "date": "Thu, 09 Oct 2025 08:53:20 GMT"}
    )
    data = yaml.safe_dump({"interactions": [row, streamed], "version": 1}).encode()
    assert b"!!binary" in data
    (place, one), (_, two) = import_file(data, "a.yaml", KNOWN).episodes
    assert place == "a.yaml:2: interaction 1"
    assert (one.request.body, one.reply.body, one.model) == (asked, BODY, "gpt-4o")
    assert two.reply.frames is not None
    assert [at for at, _ in two.reply.frames] == [0.0, 0.0]
    assert (two.reply.bytes, two.at) == (STREAM, 1760000000)


def test_streams_are_split_at_the_ends_of_their_events() -> None:
    assert [data for _, data in split_events(b"a\r\n\r\nb\r\rc\n\n\nd")] == [b"a\r\n\r\n", b"b\r\r", b"c\n\n\n", b"d"]


LINES = b'{"custom_id": "a", "result": {}}\n{"custom_id": "b", "result": {}}\n'
PARTS = b'[{"candidates": []},\n{"candidates": []}]'
COMMENTED = b": PROCESSING\n\ndata: {}\n\ndata: [DONE]\n\n"
LOOKS: list[tuple[bytes, bool, str, bool]] = [  # a body, whether a stream was asked for, its type, whether it is one
    (BODY, False, "application/json", False),
    (BODY, True, "application/json", False),
    (STREAM, True, "text/event-stream", True),
    (STREAM, False, "text/event-stream", True),  # its request may have been filtered as well
    (STREAM.replace(b"\n", b"\r\n"), False, "text/event-stream", True),
    (COMMENTED, True, "text/event-stream", True),
    (b"data: {}\n\nno event", True, "text/event-stream", True),
    (b"data: {}\n\nno event", False, "", False),
    (b"event: a text\n", False, "", False),
    (PARTS, True, "application/json", False),
    (LINES, False, "application/x-ndjson", False),
    (b"<html>", True, "", False),
]


@pytest.mark.parametrize("headers", [{}, {"content-type": ["**REDACTED**"]}, {"content-type": [""]}])
@pytest.mark.parametrize(("body", "asked", "kind", "streams"), LOOKS)
def test_an_answer_without_a_type_is_told_by_its_look(
    body: bytes, asked: bool, kind: str, streams: bool, headers: Any
) -> None:
    request = {"body": json.dumps({**ASKED, "stream": asked}), "headers": headers}
    made = vcr(request=request, body={"string": body.decode()}, headers=headers)
    assert made.reply.headers == ((("content-type", kind),) if kind else ())
    assert (made.reply.frames is not None, made.reply.bytes, made.request.headers) == (streams, body, ())


def test_a_type_that_is_there_stays() -> None:
    made = vcr(request={"body": json.dumps({**ASKED, "stream": True})}, body={"string": STREAM.decode()})
    assert (made.reply.headers, made.reply.bytes) == ((("content-type", "application/json"),), STREAM)
    assert made.reply.frames is not None


def test_lines_of_the_old_chat_of_cohere_are_a_stream() -> None:
    made = vcr(body={"string": LINES.decode()}, headers={"content-type": ["application/stream+json"]})
    assert made.reply.frames is not None
    assert len(made.reply.frames) == 2


@pytest.mark.parametrize("headers", [JSON, {**JSON, "content-encoding": "**REDACTED**"}])
def test_gzip_is_told_by_its_look(headers: Any) -> None:
    made = vcr(body={"base64_string": b64encode(gzip.compress(BODY)).decode()}, headers=headers)
    assert (made.reply.body, made.reply.headers) == (BODY, (("content-type", "application/json"),))


@pytest.mark.parametrize(
    "body",
    [
        {"string": BODY.decode()},
        {"base64_string": b64encode(BODY).decode()},
        BODY.decode(),
        {"encoding": "UTF-8", "string": BODY.decode()},
        {"encoding": "base64", "string": b64encode(BODY).decode()},
    ],
)
def test_bodies_of_vcrpy(body: Any) -> None:
    assert vcr(body=body).reply.body == BODY
    row = interaction(content=BODY.decode())
    del row["response"]["body"]
    assert taken([row]).reply.body == BODY


def test_headers_of_aiohttp_in_vcrpy_are_objects_of_python() -> None:
    words = f"""
interactions:
- request:
    method: POST
    uri: {URL}
    body: '{json.dumps(ASKED)}'
    headers:
      ? !!python/object/apply:multidict._multidict.istr
      - X-A
      : - b
  response:
    status: {{code: 200}}
    headers: {{? !!python/object/new:multidict._istr.istr [Content-Type] : application/json}}
    body: {{string: !!python/unicode '{BODY.decode()}'}}
"""
    ((_, made),) = import_file(words.encode(), "a", KNOWN).episodes
    assert made.request.headers == (("x-a", "b"),)
    assert (made.reply.body, made.reply.headers) == (BODY, (("content-type", "application/json"),))


def test_a_cassette_of_older_vcrpy_with_httpx() -> None:
    row = interaction(status_code=200, http_version="HTTP/1.1", content=BODY.decode())
    del row["response"]["body"], row["response"]["status"]
    assert taken([row]).reply.status == 200


def test_a_file_for_each_exchange() -> None:
    assert taken(interaction()).reply.body == BODY
    with pytest.raises(CassetteError, match='it has "request", "response"'):
        taken(interaction(request={"uri": "/v1/chat/completions"}))


CODED = gzip.compress(BODY).hex()


@pytest.mark.parametrize(
    ("response", "more"),
    [
        (ANSWER, {"headers": {"content-type": "application/json"}}),
        (BODY.decode(), {"rawHeaders": ["Content-Type", "application/json"]}),
        ([CODED[:40], CODED[40:]], {"rawHeaders": {"content-type": "application/json", "content-encoding": "gzip"}}),
        (CODED, {"responseIsBinary": True, "headers": {"content-type": "application/json"}}),
    ],
    ids=["JSON", "text", "chunks", "binary"],
)
def test_a_fixture_of_nock(response: Any, more: Any) -> None:
    path = "/v1/chat/completions"
    asked = {"scope": "https://api.openai.com:443", "method": "POST", "path": path, "body": ASKED}
    made = taken([{**asked, "status": 200, "response": response, **more}])
    assert (json.loads(made.request.body), json.loads(made.reply.body)) == (ASKED, ANSWER)
    assert made.reply.headers == (("content-type", "application/json"),)


def test_an_entry_of_polly_in_chunks() -> None:
    coded = gzip.compress(BODY)
    chunks = json.dumps([b64encode(coded[:20]).decode(), b64encode(coded[20:]).decode()])
    coding = {"name": "content-encoding", "value": "gzip"}
    assert make_har(entry(content={"text": chunks, "encoding": "base64"}, headers=[coding])).reply.body == BODY


def test_an_entry_of_chrome() -> None:
    made = make_har(entry())
    assert (made.at, made.reply.took, made.request.headers) == (1760000000, 0.8125, (("x-a", "b"),))
    assert made.reply.body == BODY
    row = entry()
    row["request"]["postData"] = {"mimeType": "x", "params": [{"name": "a", "value": "b c"}]}
    assert make_har(row).request.body == b"a=b+c"


def test_an_entry_of_mitmproxy_in_base64_without_headers() -> None:
    content = {"mimeType": "text/event-stream", "text": b64encode(STREAM).decode(), "encoding": "base64"}
    made = make_har(entry(content=content, headers=[]))
    assert (made.reply.bytes, len(made.reply.frames or ())) == (STREAM, 2)


def test_headers_and_codings() -> None:
    own = {
        "host": "a",
        "content-length": "3",
        "transfer-encoding": "chunked",
        "X-Request-Id": ["r", "s"],
        "a\ud800": "1",
    }
    made = vcr(request={"headers": own}, headers={**own, "date": "Thu, 09 Oct 2025 08:53:20 GMT"})
    assert made.request.headers == made.reply.headers[:2] == (("x-request-id", "r"), ("x-request-id", "s"))
    coded = b64encode(gzip.compress(BODY)).decode()
    for body in ({"base64_string": coded}, {"string": BODY.decode()}):  # most tools leave the header
        plain = vcr(body=body, headers={"content-encoding": "gzip", **JSON})
        assert (plain.reply.body, plain.reply.headers) == (BODY, (("content-type", "application/json"),))


def test_the_model_of_a_deployment_is_in_its_path() -> None:
    url = "https://a.openai.azure.com/openai/deployments/mine/chat/completions?api-version=1"
    made = vcr(request={"uri": url, "body": "{}"})
    assert (made.model, made.request.query) == ("mine", "api-version=1")


CODED = {"body": {"base64_string": "//4="}}
UNREADABLE: list[tuple[Any, str]] = [
    ({"request": 3, "response": {}}, "it has no request"),
    ({"request": {"uri": URL}}, "it has no response"),
    ({"request": {"method": "POST"}, "response": {}}, "its request has no uri"),
    (interaction(body={"base64_string": "*"}), "its body is not valid base64"),
    (interaction(headers=3), "its headers are not a table"),
    (interaction(status={}), "its answer cannot be replayed (status 0)"),
    (interaction(status=302), "its answer cannot be replayed (status 302)"),
    (interaction(body={"string": ""}), "the recording lacks the body of its answer"),
    (interaction(body=None, headers=EVENTS), "the recording lacks the body of its stream"),
    (interaction(**CODED, headers={"content-encoding": "gzip"}), "the body of its answer cannot be decoded: The body"),
    (interaction(**CODED, headers={"content-encoding": "zzz"}), "the body of its answer cannot be decoded: "),
    (interaction(request={"uri": "http://[a/v1"}), "'http://[a/v1' is not a URL"),
    (interaction(request={"uri": "https://api.openai.com/v1/vaults"}), "openai has no POST /v1/vaults"),
]


@pytest.mark.parametrize(("row", "why"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_interaction_that_cannot_be_imported(row: Any, why: str) -> None:
    ((where, told),) = import_file(json.dumps({"interactions": [row]}).encode(), "a", KNOWN).skipped
    assert where == "a: interaction 1"
    assert told.startswith(why)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (3, "it has no request"),
        ({"request": {}}, "it has no response"),
        ({"request": {}, "response": {}}, "its request has no url"),
        (entry(content={"text": "*", "encoding": "base64"}), "its content is not valid base64"),
        (entry(content={}), "the recording lacks the body of its answer"),
        (entry(status="200"), "its answer cannot be replayed (status 0)"),
    ],
)
def test_an_entry_that_cannot_be_imported(row: Any, why: str) -> None:
    found = import_file(json.dumps({"log": {"entries": [row, entry()]}}).encode(), "a.har", KNOWN)
    assert found.skipped == (("a.har: entry 1", why),)
    assert len(found.episodes) == 1


def test_requests_to_unknown_hosts_are_counted_unless_their_dialect_is_given() -> None:
    rows = [
        interaction(request={"uri": "https://gateway.corp/llm/v1/chat/completions"}),
        interaction(request={"uri": "https://gateway.corp/b"}),
        interaction(request={"uri": "https://api.skytells.ai/v1/chat/completions"}),
    ]
    data = json.dumps({"interactions": rows}).encode()
    found = import_file(data, "a.json", KNOWN)
    assert [one.dialect for _, one in found.episodes] == ["skytells"]
    assert found.unknown_hosts == {"gateway.corp": 2}
    (_, one), _ = import_file(data, "a.json", KNOWN, "tzafon").episodes
    assert (one.dialect, one.request.path) == ("tzafon", "/tzafon/v1/chat/completions")
