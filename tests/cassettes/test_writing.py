"""Any episode is written so that the very same is read, by the swift way and by the slow one."""

import json
from dataclasses import replace

import pytest
import yaml
from hypothesis import given

from mockserver.cassettes.format import HEAD, document, document_of, entries, episodes, rounded
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from tests.cassettes import hostile, samples
from tests.fuzz.amount import thrown


@given(hostile.episodes)
@thrown(300)
def test_what_was_written_is_read_to_the_byte(episode: Episode) -> None:
    text = document(episode)
    kept = rounded(episode)
    assert document_of(text) == kept
    assert episodes((HEAD + text).encode(), "x.yaml") == (kept,)
    assert document(kept) == text
    assert not entries((HEAD + text).encode(), "x.yaml")[0].is_edited


@given(hostile.episodes)
@thrown(50)
def test_other_readers_of_yaml_can_read_it(episode: Episode) -> None:
    assert len(list(yaml.safe_load_all(HEAD + document(episode)))) == 2


@pytest.mark.parametrize("text", hostile.HOSTILE)
def test_a_hostile_text_is_the_same_wherever_it_stands(text: str) -> None:
    body = json.dumps({text: [text, {"a": text}], "b": text}, ensure_ascii=False).encode()
    episode = samples.plain()
    request = replace(episode.request, path=text, query=text, headers=(("x", hostile.fit(text)),), body=body)
    frames = ((1.0, f"data: {text}\n\n".encode()), (2.0, b"data: " + body + b"\n\n"), (3.0, text.encode()))
    reply = replace(episode.reply, body=text.encode(), frames=frames)
    episode = replace(episode, model=text, request=request, reply=reply)
    assert document_of(document(episode)) == rounded(episode)
    assert episodes((HEAD + document(episode)).encode(), "x.yaml") == (rounded(episode),)


SHOWN = """\
---
call: 'openai chat gpt-4o, streamed: "Tell: a tale" -> 200, 3 events'
at: 2026-09-21T14:13:20.123Z
dialect: openai
operation: chat
model: gpt-4o
request:
  method: POST
  path: /v1/chat/completions
  query: a=b&c
  headers:
    content-type: application/json
  body:
    json:
      model: gpt-4o
      messages:
        - role: user
          content: |
            Tell:

              a tale
      top_p: 1.5
      stop: []
    style: spaced
reply:
  status: 200
  headers:
    - ["content-type", "text/event-stream"]
    - ["set-cookie", "a"]
    - ["set-cookie", "b"]
  took: 2250
  frames:
    - {at: 300, data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "choices": [{"index": 0, "delta": {"content": " wörd0"}, "logprobs": null, "finish_reason": null}]}}
    - {at: 312.5, data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "choices": [{"index": 0, "delta": {"content": " wörd1"}, "logprobs": null, "finish_reason": null}]}}
    - {at: 2000, data: "[DONE]"}
  sha256: 0
"""  # noqa: E501  # events take a line each


def test_how_a_document_looks() -> None:
    asked = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Tell:\n\n  a tale\n"}],
        "top_p": 1.50,
        "stop": [],
    }
    episode = samples.stream(events=2)
    episode = replace(episode, request=replace(episode.request, body=json.dumps(asked).encode()))
    hashed = document(episode).splitlines()[-1].strip()
    assert document(episode) == SHOWN.replace("sha256: 0", hashed)


def test_times_are_kept_as_far_as_anybody_reads_them() -> None:
    episode = replace(samples.stream(), at=1_790_000_000.98765)
    episode = replace(episode, reply=replace(episode.reply, took=0.123456789, frames=((0.0000004, b"x"), (-1.0, b"y"))))
    kept = rounded(episode)
    assert (kept.at, kept.reply.took) == (1_790_000_000.988, 0.123457)
    assert kept.reply.frames == ((0.0, b"x"), (0.0, b"y"))
    assert rounded(kept) == kept


def test_a_head_that_is_no_text_is_refused() -> None:
    episode = replace(samples.plain(), request=replace(samples.plain().request, path="/\ud800"))
    with pytest.raises(CassetteError) as caught:
        document(episode)
    assert str(caught.value).startswith("a call to openai cannot be recorded: its path, query or headers are")
