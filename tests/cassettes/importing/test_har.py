"""HAR of browsers and proxies: base64, forms, missing bodies, beats of our own."""

import json
from base64 import b64encode
from typing import Any

import pytest

from mockserver.cassettes.convert.imports import import_file
from mockserver.core.episode import Episode
from tests.cassettes.importing.kit import ANSWER, ASKED, KNOWN, STREAM, URL


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


def taken(*entries: Any) -> Episode:
    found = read(*entries)
    assert not found.skipped, found.skipped
    made: Episode = found.episodes[0]
    return made


def test_an_entry_of_chrome() -> None:
    made = taken(entry())
    assert (made.at, made.reply.took, made.request.headers) == (1760000000, 0.8125, (("x-a", "b"),))
    assert json.loads(made.reply.body) == ANSWER


def test_an_entry_of_mitmproxy_in_base64_without_headers() -> None:
    content = {"mimeType": "text/event-stream", "text": b64encode(STREAM).decode(), "encoding": "base64"}
    made = taken(entry(content=content, headers=[]))
    assert (made.reply.bytes, len(made.reply.frames or ())) == (STREAM, 2)


def test_beats_are_taken_where_they_fit() -> None:
    content = {"mimeType": "text/event-stream", "text": STREAM.decode()}
    first = STREAM.index(b"\n\n") + 2
    beats = [[300, first], [310, len(STREAM) - first]]
    kind = [{"name": "content-type", "value": "text/event-stream"}]
    made = taken(entry(content=content, headers=kind, _beats=beats))
    assert [at for at, _ in made.reply.frames or ()] == [0.3, 0.31]
    for wrong in ([[300, 3]], [[300, -1], [1, len(STREAM) + 1]], 3, [3], [["a", 1]]):
        again = taken(entry(content=content, headers=kind, _beats=wrong))
        assert [at for at, _ in again.reply.frames or ()] == [0.0, 0.0]


def test_a_form_is_written_again() -> None:
    row = entry()
    row["request"]["postData"] = {"mimeType": "x", "params": [{"name": "a", "value": "b c"}]}
    assert taken(row).request.body == b"a=b+c"


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
def test_what_is_unfit_is_told(row: Any, why: str) -> None:
    (left,) = read(row).skipped
    assert (left.where, left.why) == ("a.har: entry 1", why)
