"""Cassettes of vcrpy, in the shapes that its versions and its friends write."""

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest

from mockserver.cassettes.convert.imports import import_file
from mockserver.core.episode import Episode
from tests.cassettes.importing.kit import ANSWER, ASKED, KNOWN, STREAM, interaction

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


def taken(data: bytes) -> Episode:
    found = import_file(data, "a", KNOWN)
    assert not found.skipped, found.skipped
    return found.episodes[0]


def test_pytest_recording_with_a_stream() -> None:
    made = taken(PYTEST_RECORDING.encode())
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
    made = taken(text.encode())
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
    assert taken(json.dumps({"interactions": [row]}).encode()).reply.body == BODY


def test_json_that_was_parsed_is_written_again() -> None:
    row = interaction(parsed_body=ANSWER, request={"parsed_body": ASKED})
    made = taken(json.dumps({"interactions": [row]}).encode())
    assert json.loads(made.reply.body) == ANSWER
    assert json.loads(made.request.body) == ASKED


def test_a_stream_of_json_is_one_too() -> None:
    row = interaction(body={"string": STREAM.decode()}, headers={"Content-Type": "text/event-stream"})
    assert len(taken(json.dumps({"interactions": [row]}).encode()).reply.frames or ()) == 2


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
def test_what_is_unfit_is_told(row: Any, why: str) -> None:
    (left,) = import_file(json.dumps({"interactions": [row]}).encode(), "a", KNOWN).skipped
    assert (left.where, left.why) == ("a: interaction 1", why)
