"""What looks like a secret is reported with its place, unless it is allowed."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from mockserver.cassettes.redaction.detect import MAX_LEAKS, Leak, find_leaks, make_entry, parse_allowed
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Episode, Recorded, Sent

KEY = "sk-proj-0a1B2c3D4e5F"


@pytest.mark.parametrize(
    "entry", [KEY, "sk-proj-*", "*4e5F", "*1B*3D*", "*", make_entry(KEY), "sha256:" + sha256(KEY.encode()).hexdigest()]
)
def test_an_entry_that_allows(entry: str) -> None:
    assert KEY in parse_allowed(("other", entry))


@pytest.mark.parametrize("entry", ["sk-proj-", "*4e5", "*3D*1B*", "sk-proj-0a1B2c3D4e5F*F", "\\*", make_entry("other")])
def test_an_entry_that_does_not(entry: str) -> None:
    assert KEY not in parse_allowed((entry,))
    assert "a*b" in parse_allowed((entry, "a\\*b"))


def test_many_wildcards_take_no_more_than_linear_time() -> None:
    assert "a" * 5_000 not in parse_allowed(("*a" * 40 + "*b",))


@pytest.mark.parametrize("entry", ["sha256:", "sha256:1234567", "sha256:nothexadecimal", "sha256:" + "0" * 65])
def test_a_hash_that_is_none(entry: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^allow_secrets: {entry} must have 8 to 64 hexadecimal digits after sha256:"
    ):
        parse_allowed((entry,))


TESTS = Path(__file__).parents[2]
LEAK = "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3"


def asked(path: str = "/v1/chat/completions", query: str = "", body: object = None, accept: str = "*/*") -> Episode:
    sent = Sent("POST", path, query, (("accept", accept),), json.dumps(body).encode())
    return Episode("openai", "chat", "gpt-4o", sent, Recorded(200))


def answered(body: bytes = b"", frames: tuple[bytes, ...] | None = None, request_id: str = "req_1") -> Episode:
    beats = None if frames is None else tuple((0.1, frame) for frame in frames)
    reply = Recorded(200, (("x-request-id", request_id),), body, beats)
    return Episode("openai", "chat", "gpt-4o", Sent("POST", "/v1/chat/completions"), reply)


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


CHAT = {"messages": [{"role": "system", "content": "é 一"}, {"role": "user", "content": f"my key is {LEAK}, ok?"}]}
WHERE = [
    (asked(f"/v1/files/{LEAK}"), "request, path"),
    (asked(query=f"a=1&b={LEAK}"), "request, query"),
    (asked(query=f"a=1&b={LEAK.replace('-', '%2D')}"), "request, query"),
    (asked(accept=LEAK), "request, header accept"),
    (asked(body=CHAT), "request, body, $.messages[1].content"),
    (asked(body={"a b": [{LEAK: 1}]}), 'request, body, $["a b"][0]'),
    (asked(body={"a": json.dumps({"b": LEAK})}), "request, body, $.a"),
    (answered(request_id=LEAK), "answer, header x-request-id"),
    (answered(json.dumps({"a": [0, LEAK]}).encode()), "answer, body, $.a[1]"),
    (answered(json.dumps({"ü": 1, "a": [0, LEAK]}).encode()), "answer, body, $.a[1]"),
    (answered(f"<html>\n<p>{LEAK}</p>".encode()), "answer, body, line 2"),
    (answered(b"\xff\xfe " + LEAK.encode()), "answer, body, line 1"),
    (answered(b'{"a":["' + LEAK.replace("-", "\\u002d").encode() + b'"]}'), "answer, body, $.a[0]"),
    (
        answered(b"", (b": ping\n\n", event("a"), event(f"say {LEAK}"))),
        "answer, event 3, $.choices[0].delta.content",
    ),
    (
        answered(b"", (b"event: x\r\nid: 1\r\ndata:" + json.dumps([LEAK]).encode() + b"\r\n\r\n",)),
        "answer, event 1, $[0]",
    ),
    (
        answered(b"", (b"data: \\u0041\\u0041\\u0041\n\n", event(LEAK))),
        "answer, event 2, $.choices[0].delta.content",
    ),
    (answered(b"", (b"id: " + LEAK.encode() + b"\ndata: 1\n\n",)), "answer, event 1"),
    (answered(b"", (b"data: no JSON " + LEAK.encode() + b"\n\n",)), "answer, event 1"),
    (
        answered(b"", (event("a "), event(LEAK[:9]), event(LEAK[9:20]), event(LEAK[20:]))),
        "answer, in pieces, events 1 to 4",
    ),
    (
        answered(
            json.dumps(
                {"logprobs": {"content": [{"token": LEAK[:9]}, {"token": LEAK[9:20]}, {"token": LEAK[20:]}]}}
            ).encode()
        ),
        "answer, body, in pieces",
    ),
    (Episode("openai", "chat", f"ft:{LEAK}", Sent("POST", "/"), Recorded(200)), "model"),
]


@pytest.mark.parametrize(("episode", "where"), WHERE)
def test_where_it_stands(episode: Episode, where: str) -> None:
    (leak,) = find_leaks(episode)
    assert (leak.kind, leak.where, leak.shown) == ("OpenAI key", where, "sk-p...(masked)")


def test_the_report_says_how_to_allow_it_and_tells_nothing() -> None:
    (leak,) = find_leaks(asked(body=[LEAK]))
    assert str(leak) == (
        "request, body, $[0]: sk-p...(masked) looks like a secret (OpenAI key); if it is not one, allow it: "
        'allow_secrets: ["sha256:f49b3c6b56972f76"]'
    )
    assert LEAK[5:] not in repr(leak)
    assert leak == Leak(leak.kind, leak.where, leak.shown, leak.how)


@pytest.mark.parametrize("allow", [LEAK, "sk-proj-8fK2*", "sha256:f49b3c6b56972f76", "sha256:f49b3c6b"])
def test_what_is_allowed_is_no_leak(allow: str) -> None:
    assert find_leaks(asked(body=[LEAK]), (allow,)) == ()
    assert find_leaks(asked(body=[LEAK + "x"]), (allow.replace("*", ""),))


def test_a_value_is_told_once_and_not_too_many_are() -> None:
    assert len(find_leaks(asked(body=[LEAK, LEAK, {"a": LEAK}]))) == 1
    many = [f"ghp_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7{number:06}" for number in range(100, 200)]
    assert len(find_leaks(asked(body=many))) == MAX_LEAKS


FILES = sorted(path for kind in ("yaml", "json", "txt", "sse") for path in TESTS.rglob(f"*.{kind}"))


def test_ordinary_requests_and_answers_do_not_trip() -> None:
    assert len(FILES) > 100
    found = {str(path): find_leaks(answered(path.read_bytes())) for path in FILES}
    assert not {path: told for path, told in found.items() if told}
