"""What upstreams say as it stands on disk: played back it is the same, and no file holds what is secret."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.kit.raw import RawResponse, post
from tests.kit.recording import recording, replaying
from tests.kit.scripts import ANSWER, BODY, DONE, EVENTS, HI, STREAM, STREAMED, base
from tests.kit.upstream import Upstream, plain, stream, upstream

# By script: the request, and the status and body that a client has of it, without codings.
SAID: dict[str, tuple[bytes, int, bytes]] = {
    "plain": (HI, 200, ANSWER),
    "chunked": (HI, 200, ANSWER),
    "to the close": (HI, 200, ANSWER),
    "too long": (HI, 200, ANSWER),
    "gzip": (HI, 200, ANSWER),
    "stream": (STREAM, 200, EVENTS),
    "gzip stream": (STREAM, 200, EVENTS),
    "limited": (HI, 429, b'{"error":{"message":"slow down"}}'),
    "failing": (STREAM, 502, b"<h1>502</h1>"),
}
TOLD = ("content-type", "retry-after", "x-ratelimit-remaining-requests")


def in_plain(received: RawResponse) -> bytes:
    return gzip.decompress(received.body) if received.headers.get("content-encoding") == "gzip" else received.body


@pytest.mark.parametrize("script", SAID)
def test_what_was_recorded_is_played(up: Upstream, tmp_path: Path, script: str) -> None:
    request, status, body = SAID[script]
    with recording(base(up, script), tmp_path) as relay:
        first = relay.ask(request)
    with replaying(tmp_path) as player:
        again = player.ask(request)
    assert first.status == again.status == status
    assert in_plain(first) == again.body == body
    assert {name: first.headers.get(name) for name in TOLD} == {name: again.headers.get(name) for name in TOLD}
    assert again.headers["x-mockserver-source"] == "cassette chat.yaml#1"


# Secrets.

KEY = "sk-proj-Q7+vX2/nB9w=Lk4TzR8sYd1F"
COOKIE = "session-Zu3pW8xKq5"
IN_QUERY = "AIzaKq7Wd2Lx9"
CODED = b64encode(KEY.encode()).decode()


def chunk_of(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


ECHO = json.dumps({"you sent": f"{KEY}, {COOKIE} and {IN_QUERY}", "coded": [CODED, quote(KEY, safe="")]}).encode()
REFUSED = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}}).encode()
ECHOES = {
    "body": plain(ECHO, f"x-request-id: req-{KEY}", f"set-cookie: a={COOKIE}"),
    "coded": plain(gzip.compress(ECHO), "content-encoding: gzip"),
    "error": plain(REFUSED, f'www-authenticate: Bearer realm="{KEY}"', status="401 Unauthorized"),
    "no json": plain(f"<p>{KEY}</p>".encode(), "content-type: text/html", status="500 Internal Server Error"),
    "stream": stream(chunk_of(f"it is {KEY}"), chunk_of(CODED), DONE),
    "pieces": stream(*map(chunk_of, ("it is ", KEY[:4], KEY[4:11], KEY[11:] + "!")), DONE),
    "failed": stream(chunk_of("Hi"), b"data: " + REFUSED + b"\n\n"),
    "large": plain(b'{"filler":"' + b"x" * 4_000_000 + KEY.encode() + b'"}'),
}


@pytest.fixture(scope="module")
def echoing() -> Iterator[Upstream]:
    with upstream(ECHOES) as process:
        yield process


def asked(script: str, key: str = KEY, cookie: str = COOKIE) -> bytes:
    body = STREAMED if script in ("stream", "pieces", "failed") else BODY
    told = (f"authorization: Bearer {key}", f"cookie: session={cookie}")
    return post(body, *told, path=f"/v1/chat/completions?key={IN_QUERY}")


def forms() -> Iterator[bytes]:
    for secret in (KEY, COOKIE, IN_QUERY):
        for shift in range(3):  # base64 of anything that holds it: whole groups of its letters
            yield b64encode(secret[shift:].encode())[: len(secret[shift:]) // 3 * 4]
        yield from (secret.encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode())


@pytest.mark.parametrize("script", ECHOES)
def test_echoed_secrets_are_in_no_file(echoing: Upstream, tmp_path: Path, script: str) -> None:
    with recording(echoing.base(script), tmp_path / "tapes", record_errors=True) as relay:
        first = relay.ask(asked(script))
        relay.ask(asked(script).replace(b"Hello", b"Hullo"))
    assert first.status < 400 or script in ("error", "no json")
    if script != "pieces":
        assert KEY.encode() in in_plain(first)
    written = {each: each.read_bytes() for each in (tmp_path / "tapes").rglob("*") if each.is_file()}
    assert len(relay.episodes) == 2
    assert not [(each.name, form) for each, data in written.items() for form in forms() if form in data]
    if script == "pieces":
        assert not [part for part in (KEY[4:11], KEY[11:]) for data in written.values() if part.encode() in data]
    with replaying(tmp_path / "tapes") as player:
        again = player.ask(asked(script, "sk-another-one-1", "another"))
    assert again.status == first.status
    assert again.headers["x-mockserver-source"] == "cassette chat.yaml#1"
    assert KEY.encode() not in again.body
