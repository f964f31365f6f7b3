"""The journal of a real server, as its control paths tell it, becomes episodes again."""

import json
from typing import Any

import httpx
import pytest

from mockserver.cassettes.convert.imports import import_file
from mockserver.cassettes.parse_response import parse_response
from tests.cassettes.importing.kit import ASKED, KNOWN
from tests.kit.served import served

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
def test_what_is_unfit_is_told(changed: Any, why: str) -> None:
    (left,) = import_file(json.dumps({"calls": [call(**changed)]}).encode(), "a", KNOWN).skipped
    assert (left.where, left.why) == ("a: call 7", why)
