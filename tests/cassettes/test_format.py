"""Episodes are read exactly as they were written; mistakes are reported with their place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mockserver.cassettes.format import (
    HEAD,
    read_documents,
    read_episode,
    round_times,
    summarize,
    write_document,
)
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.json import Json
from tests.cassettes import hostile, samples
from tests.cassettes.samples import read_episodes
from tests.fuzz.amount import thrown

DOCUMENTS = [
    write_document(samples.plain(1)),
    write_document(samples.stream(2)),
    write_document(samples.plain(3, text="a\n---\nb\n")),
]
WHOLE = (HEAD + "".join(DOCUMENTS)).encode()
BEGIN = 'a cassette begins with "version: 1"'


def complaint(data: bytes | str) -> str:
    with pytest.raises(CassetteError) as caught:
        read_episodes(data if isinstance(data, bytes) else data.encode(), "c.yaml")
    return str(caught.value)


@pytest.mark.parametrize("text", ["interactions:\n- request: !!binary x\n", "---\nhttp_interactions: []\n"])
def test_a_recording_of_another_tool_says_how_to_import_it(text: str) -> None:
    line = text.count("\n", 0, text.index("interactions"))
    assert complaint(text).startswith(f"c.yaml:{line + 1}:1: not a cassette, but a recording of vcrpy or VCR; ")


def test_episodes_know_where_they_come_from() -> None:
    found = read_episodes(WHOLE, "cassettes/c.yaml")
    assert found == (samples.plain(1), samples.stream(2), samples.plain(3, text="a\n---\nb\n"))
    assert [each.reply.source for each in found] == [f"cassette c.yaml#{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    "head",
    [
        "version: 1\n",
        "# mine\n---\nversion: 1\n",
        "---\nversion: 1\n",
        "\n# a\n\n--- # b\nversion: 1\n",
        "\ufeffversion: 1\n",
    ],
)
def test_heads(head: str) -> None:
    assert len(read_episodes((head + "".join(DOCUMENTS)).encode(), "c.yaml")) == 3
    assert read_episodes(head.encode(), "c.yaml") == ()
    assert read_episodes(head.strip("\n").encode(), "c.yaml") == ()


def test_comments_may_stand_anywhere() -> None:
    text = (
        WHOLE.decode()
        .replace("\nrequest:", "\n# a comment\nrequest:  # and one more")
        .replace("  frames:", "  # x\n  frames:")
    )
    assert read_episodes(text.encode(), "c.yaml") == read_episodes(WHOLE, "c.yaml")


def test_events_may_be_edited_in_any_way_yaml_has() -> None:
    text = WHOLE.decode().replace('    - {at: 2000, data: "[DONE]"}', "    - at: 2000\n      data: '[DONE]'")
    text = text.replace("- {at: 300, data: {", "- {at: 300,\n       data: {")
    assert text != WHOLE.decode()
    assert read_episodes(text.encode(), "c.yaml") == read_episodes(WHOLE, "c.yaml")


def test_a_text_that_looks_like_events_is_a_text() -> None:
    odd = (
        "version: 1\n---\ncall: |\n  frames:\n    - {at: 1, data: {}}\n"
        + DOCUMENTS[1].partition("\n")[2].partition("\n")[2]
    )
    assert read_episodes(odd.encode(), "c.yaml") == (samples.stream(2),)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", f"c.yaml:1:1: not a cassette: the file is empty; {BEGIN}"),
        ("---\n", f"c.yaml:1:1: not a cassette: the file is empty; {BEGIN}"),
        ("hello", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [hello]"),
        ("version: 1\nsettings: {}\nrules: []\n", f"c.yaml:1:1: not a cassette: {BEGIN}, and then ---  [version: 1]"),
        ("version: 2\n", "c.yaml:1:10: this cassette has version 2; this server reads version 1  [version: 2]"),
        ("version: {a: 1}", "c.yaml:1:10: this cassette has version a table; this server reads version 1  [version: {"),
        (b"\x89PNG\r\n\x1a\n\x00", "c.yaml:1:1: not a cassette: the byte 0x89 is not UTF-8"),
        (HEAD.encode() + "é\n ö\xff".encode("latin-1"), "c.yaml:3:1: not a cassette: the byte 0xe9 is not UTF-8"),
        ("\x00\x01\x02", "c.yaml:1:1: the character U+0000 is not allowed in YAML; write"),
        ("version: 1\n---\nhello", "c.yaml:3:1: an episode must be a table  [hello]"),
        (
            "version: 1\n---\n",
            "c.yaml:2:1: an episode is missing here: was the file cut off?  [---]",
        ),
        (
            "version: 1\n---\na: !!python/name:os.system",
            "c.yaml:3:4: tags (!) are not allowed in a cassette; remove this one",
        ),
    ],
)
def test_other_files_are_refused(data: bytes | str, words: str) -> None:
    assert complaint(data).startswith(words)


def test_all_mistakes_are_told_at_once_up_to_a_number() -> None:
    text = WHOLE.decode().replace("status: 200", "status: ok")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "status: ok" in line]
    assert complaint(text).split("\n") == [
        f"c.yaml:{line}:11: write a status from 200 to 599 here  [status: ok]" for line in lines
    ]
    assert complaint(HEAD + "---\na: 1\n" * 100).count("\n") == 19


@given(st.integers(len(HEAD) + 1, len(WHOLE) - 2))
@thrown(300)
def test_a_file_that_was_cut_off_is_an_error_but_between_documents(at: int) -> None:
    ends = {len((HEAD + "".join(DOCUMENTS[:count])).encode()) - less for count in (0, 1, 2) for less in (0, 1)}
    if at in ends:
        assert len(read_episodes(WHOLE[:at], "c.yaml")) < 3
    else:
        assert complaint(WHOLE[:at]).startswith("c.yaml:")


def edited(text: str) -> list[bool]:
    return [entry.is_edited for entry in read_documents(text.encode(), "c.yaml")]


def test_edited_answers_are_found() -> None:
    text = WHOLE.decode()
    assert edited(text) == [False] * 3
    assert edited(text.replace("Rain.", "Snow.", 1).replace("wörd2", "wörd3")) == [True, True, False]


START = "version: 1\n---\n"
LEAST = """\
dialect: openai
request: {method: GET, path: /v1/models}
reply: {status: 200, sha256: unknown}
"""


def read(text: str) -> Episode:
    (entry,) = read_documents((START + text).encode(), "c.yaml")
    return entry.episode


def test_all_that_may_stand_there() -> None:
    text = """\
call: what people read
at: 2026-01-31T13:00:00.5+01:00
dialect: openai
operation: chat
model: 4.50
request:
  method: POST
  path: /v1/x
  query: a=b
  headers: {x: 1, y: yes}
  body: {json: {a: 1.0}, style: spaced}
reply:
  status: 429
  headers: [[a, 1], [a, 2]]
  took: 12.5
  body: {text: "x"}
  style: spaced
  ends: crlf
  frames:
    - {at: 1, data: {a: 1}}
  sha256: unknown
"""
    assert read(text) == Episode(
        "openai",
        "chat",
        "4.50",
        Sent("POST", "/v1/x", "a=b", (("x", "1"), ("y", "yes")), b'{"a": 1.0}'),
        Recorded(429, (("a", "1"), ("a", "2")), b"x", ((0.001, b'data: {"a": 1}\r\n\r\n'),), 0.0125),
        1_769_860_800.5,
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("dialect: openai\n", "", '3:1: an episode needs "dialect"; was the file cut off?  [request: {'),
        ("dialect", "dialekt", '3:1: an episode has no "dialekt"; did you mean "dialect"?  [dialekt: openai]'),
        ("openai", "[a]", "3:10: write a text here  [dialect: [a]]"),
        (
            "openai\n",
            "openai\nat: soon\n",
            "4:5: write a time in UTC here, such as 2026-01-31T12:00:00Z  [at: soon]",
        ),
        ("{method: GET, path: /v1/models}", "a", "4:10: a request must be a table  [request: a]"),
        ("method: GET, ", "", '4:10: a request needs "method"; was the file cut off?  [request: {path: /v1/models}]'),
        ("method: GET", "method: GET, body: a", "4:30: a body needs exactly one of json, text, base64  [request: {me"),
        ("method: GET", "method: GET, headers: a", "4:33: headers must be a table, or a list of [name, value]  [req"),
        (
            "method: GET",
            "method: GET, headers: [[a]]",
            "4:34: headers must be a table, or a list of [name, value]  [req",
        ),
        ("200", "20", "5:17: write a status from 200 to 599 here  [reply: {status: 20, sha256: unknown}]"),
        ("200", '200, headers: {"a\\nb": c}', "5:32: 'a\\nb' is not a valid header name  [reply: {"),
        ("200", '200, headers: {a: "b\\r\\nc: d"}', "5:35: a header must be one line of Latin-1 characters  [re"),
        ("200", "200, headers: {a: [b]}", "5:35: write a text here  [reply: {"),
        ("200", "200, took: -1", "5:28: write milliseconds here, such as 12 or 12.5  [reply: {"),
        ("200", "200, frames: a", "5:30: write a list of events here  [reply: {"),
        ("200", "200, frames: [0]", "5:31: an event needs exactly one of data, payload, raw, base64  [reply: {"),
        ("200", "200, ends: cr", "5:28: write lf, crlf, bare here  [reply: {"),
        (
            "sha256: unknown",
            "sha256: 12ab",
            "5:30: write 64 hex digits here, or unknown; was the file cut off?  [re",
        ),
        (
            ", sha256: unknown",
            "",
            '5:8: the "sha256" of the body is missing: was the file cut off? '
            "In a reply written by hand, use sha256: unknown  [reply: {status: 200}]",
        ),
    ],
)
def test_what_does_not_fit_is_told_where_it_stands(old: str, new: str, told: str) -> None:
    assert LEAST.replace(old, new) != LEAST
    with pytest.raises(CassetteError) as caught:
        read(LEAST.replace(old, new))
    assert str(caught.value).startswith(f"c.yaml:{told}")


@given(hostile.episodes)
@thrown(300)
def test_what_was_written_is_read_to_the_byte(episode: Episode) -> None:
    text = write_document(episode)
    kept = round_times(episode)
    assert read_episode(text) == kept
    assert read_episodes((HEAD + text).encode(), "x.yaml") == (kept,)
    assert write_document(kept) == text
    assert not read_documents((HEAD + text).encode(), "x.yaml")[0].is_edited


@pytest.mark.parametrize("text", hostile.HOSTILE)
def test_a_hostile_text_is_the_same_wherever_it_stands(text: str) -> None:
    body = json.dumps({text: [text, {"a": text}], "b": text}, ensure_ascii=False).encode()
    episode = samples.plain()
    request = replace(episode.request, path=text, query=text, headers=(("x", hostile.fit(text)),), body=body)
    frames = ((1.0, f"data: {text}\n\n".encode()), (2.0, b"data: " + body + b"\n\n"), (3.0, text.encode()))
    reply = replace(episode.reply, body=text.encode(), frames=frames)
    episode = replace(episode, model=text, request=request, reply=reply)
    assert read_episode(write_document(episode)) == round_times(episode)
    assert read_episodes((HEAD + write_document(episode)).encode(), "x.yaml") == (round_times(episode),)


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
    hashed = write_document(episode).splitlines()[-1].strip()
    assert write_document(episode) == SHOWN.replace("sha256: 0", hashed)


def test_a_head_that_is_no_text_is_refused() -> None:
    episode = replace(samples.plain(), request=replace(samples.plain().request, path="/\ud800"))
    with pytest.raises(CassetteError) as caught:
        write_document(episode)
    assert str(caught.value).startswith("a call to openai cannot be recorded: its path, query or headers are")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}]}, '"One"'),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "A"}, {"x": 1}]}]}, '"A"'),
        ({"messages": [{"role": "system", "content": "S"}]}, "POST /v1/chat/completions"),
        ({"input": "An input"}, '"An input"'),
        ({"input": ["one", "two"]}, '"one two"'),
        ({"prompt": [1, 2]}, "POST /v1/chat/completions"),
        ({"prompt": "a\n\t b\x00\x1b[31m\u2028c"}, '"a b [31m c"'),
        ({"prompt": "x" * 200}, '"' + "x" * 79 + '…"'),
        ("no object", "POST /v1/chat/completions"),
    ],
)
def test_what_the_user_said_last(body: Json, said: str) -> None:
    episode = samples.plain()
    episode = replace(episode, request=replace(episode.request, body=json.dumps(body).encode()))
    assert summarize(episode) == f"openai chat gpt-4o: {said} -> 200"
