"""Recordings of Bedrock: read alike plain and streamed, shown in words, redacted, imported, and turned into rules."""

import json
from base64 import b64encode
from typing import Any

import httpx
import pytest
import yaml
from msgspec.structs import replace

from mockserver.cassettes.convert import import_file
from mockserver.cassettes.format import read_documents, write_document
from mockserver.cassettes.formats import find_episode_format, parse_answer
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.redaction.redact import Redactor
from mockserver.cassettes.to_rules import write_rules_file
from mockserver.cassettes.verify import find_misshapen
from mockserver.config.settings import Scrub
from mockserver.core.event_stream import make_event, read_message
from mockserver.testing import MockServer
from tests.cassettes.convert.kit import KNOWN
from tests.cassettes.convert.test_rules import learned
from tests.dialects.bedrock.features import BODIES, STREAM_URL, URL, names, request
from tests.dialects.features import FEATURES, rules
from tests.kit.episodes import episode
from tests.kit.local import local

Json = Any
SERVER = local(rules())
UNSEEN = ("max-tokens", "generated", "filtered", "annot", "reasoning", "parts", "usage", "template", "echo", "refus")
RULED = [name for name in names() if FEATURES[name].then and not name.startswith(UNSEEN)]


def both(*recorded: Any) -> tuple[ParsedResponse, ParsedResponse]:
    assert [list(find_misshapen(each)) for each in recorded] == [[], []]
    plain, streamed = (parse_answer(each) for each in recorded)
    return plain, streamed


@pytest.mark.parametrize("name", names())
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    plain, streamed = both(*(episode(SERVER, url.format(model=name), request(name)) for url in (URL, STREAM_URL)))
    assert [choice.finish for choice in plain.choices] == [choice.finish for choice in streamed.choices]
    assert (plain.complete, plain.usage) == (streamed.complete, streamed.usage)
    if not name.startswith(("max-tokens-of-a-tool", "generated-call-cut")):  # whose arguments a limit has cut
        assert [choice.parts for choice in plain.choices] == [choice.parts for choice in streamed.choices]


@pytest.mark.parametrize("model", BODIES)
def test_each_family_is_read(model: str) -> None:
    server = local("rules: [{then: {text: One two three.}}]")
    verbs = ("invoke", "invoke-with-response-stream")
    plain, streamed = both(*(episode(server, f"/bedrock/model/{model}/{verb}", BODIES[model]) for verb in verbs))
    for read in (plain, streamed):
        assert read.choices[0].join_texts("text") == "One two three."
        assert (read.choices[0].finish, read.complete) == ("stop", True)


@pytest.mark.parametrize("name", RULED)
def test_rules_answer_as_it_was_recorded(name: str) -> None:
    made, skipped = learned(episode(SERVER, STREAM_URL.format(model=name), request(name)))
    assert not skipped
    again = local(write_rules_file(made), unmatched="error")
    first, second = (server.ask(URL.format(model=name), request(name)).json for server in (SERVER, again))
    assert first["output"] == second["output"]


def test_messages_are_shown_and_restored() -> None:
    made = episode(local("rules: [{then: {text: Hi.}}]"), STREAM_URL.format(model="x"), request("text"))
    padded = make_event("chunk", b'{"bytes":"eyJhIjoxfQ==","p":"abc"}').write()
    odd = b"".join((padded[:-1], b"\0"))
    frames = (*(made.reply.frames or ()), (0.5, padded), (0.6, odd))
    document = write_document(_with_frames(made, frames))
    assert '{at: 310, event: contentBlockDelta, payload: {"contentBlockIndex": 0, "delta": {"text": "Hi"}}}' in document
    assert '{at: 500, event: chunk, padding: "abc", payload: {"a": 1}}' in document
    assert document.count("base64:") == 1  # of the message that has a wrong checksum
    (read,) = read_documents(f"version: 1\n{document}".encode(), "a.yaml")
    assert read.episode.reply.frames == frames
    assert not read.is_edited


def _with_frames(made: Any, frames: Any) -> Any:
    return replace(made, reply=replace(made.reply, frames=frames))


def test_what_is_found_in_a_message_is_redacted() -> None:
    told = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Mail ann@mail.example."},
    }
    chunk = {"bytes": b64encode(json.dumps(told).encode()).decode()}
    event = {"contentBlockIndex": 0, "delta": {"text": "The key is sk-0123456789abcdefghij."}}
    made = episode(SERVER, STREAM_URL.format(model="x"), request("text"))
    frames = tuple(
        (0.1, make_event(name, json.dumps(payload, separators=(",", ":")).encode()).write())
        for name, payload in (("chunk", chunk), ("contentBlockDelta", event))
    )
    redactor = Redactor((Scrub(regex=r"\w+@[\w.]+example"),), ("sk-0123456789abcdefghij",))
    redacted = redactor.redact_episode(_with_frames(made, frames)).reply.frames
    first, second = (read_message(data) for _, data in redacted or ())
    assert first is not None
    assert second is not None
    assert "ann@" not in first.text
    assert json.loads(second.text)["delta"]["text"] == "The key is <API_KEY>."


@pytest.mark.parametrize("as_binary", [True, False], ids=["binary", "base64"])
def test_recordings_of_vcrpy_are_imported(as_binary: bool) -> None:
    asked, streamed = request("text"), SERVER.ask(STREAM_URL.format(model="x"), request("text"))
    arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc"
    host = "https://bedrock-runtime.us-east-1.amazonaws.com"
    body: Json = {"string": streamed.body} if as_binary else {"base64_string": b64encode(streamed.body).decode()}
    interaction = {
        "request": {"method": "POST", "uri": f"{host}/model/{arn}/converse-stream", "body": json.dumps(asked)},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": body},
    }
    text = yaml.safe_dump({"version": 1, "interactions": [interaction]})
    imported = import_file(text.encode(), "old.yaml", KNOWN)
    ((_, found),) = imported.episodes
    assert (found.dialect, found.operation, find_episode_format(found)) == ("bedrock", "chat", "converse")
    assert found.model == "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    assert found.reply.bytes == streamed.body
    assert dict(found.reply.headers)["content-type"] == "application/vnd.amazon.eventstream"
    assert len(found.reply.frames or ()) == streamed.body.count(b":message-type")
    assert list(find_misshapen(found)) == []


def test_the_transport_knows_the_host() -> None:
    with MockServer(unmatched="generate") as server:
        server.on("hello").reply("Hi!")
        with httpx.Client(transport=server.transport()) as client:
            url = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/amazon.nova-pro-v1:0/converse"
            body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
            answer = client.post(url, json=body).json()
    assert answer["output"]["message"]["content"] == [{"text": "Hi!"}]
