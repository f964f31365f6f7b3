"""An answer without secrets: plain or streamed, in one piece or told in many, and all else as it came."""

import json
from time import process_time

import pytest

from mockserver.cassettes.redaction.find import Credentials, credentials_of
from mockserver.cassettes.redaction.redact import RedactionRules, redact_reply
from mockserver.config.cassettes import Scrub
from mockserver.core.episode import Recorded

KEY = "sk-proj-0a1B2c/3+4="
AWAY, NOBODY = credentials_of([KEY]), Credentials()
MAIL = RedactionRules((Scrub(regex=r"\w+@\w+", placeholder="<mail>"), Scrub(path="$.user")))


def chunk(text: str) -> bytes:
    """An event of a chat."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def stream(*events: bytes) -> Recorded:
    """An answer of these events."""
    return Recorded(200, (), b"", tuple((number / 10, event) for number, event in enumerate(events)))


def left(reply: Recorded, away: Credentials = AWAY, rules: RedactionRules = MAIL) -> list[bytes]:
    """The events that are left, each at its moment."""
    found = redact_reply(reply, away, rules)
    assert found.frames is not None
    assert reply.frames is not None
    assert [at for at, _ in found.frames] == [at for at, _ in reply.frames]
    assert redact_reply(found, away, rules) == found
    return [event for _, event in found.frames]


def test_a_plain_answer() -> None:
    reply = Recorded(200, (("x-request-id", KEY), ("server", "x")), f'{{ "a":"{KEY} a@b","user":"me" }}'.encode())
    found = redact_reply(reply, AWAY, MAIL)
    assert found.headers == (("x-request-id", "<API_KEY>"),)
    assert found.body == b'{ "a":"<API_KEY> <mail>","user":"<scrubbed>" }'
    assert redact_reply(found, AWAY, MAIL) == found


def test_what_holds_no_secret_stays_to_the_byte() -> None:
    events = (b": ping\n\n", chunk("a"), b"event: x\r\ndata:{}\r\n\r\n", b"data: {broken\n\n", b"data: [DONE]\n\n")
    assert left(stream(*events)) == list(events)
    body = b"\xff\xfe not text \xc3"
    assert redact_reply(Recorded(200, (), body), AWAY, MAIL).body is body


def test_the_end_of_a_stream_stays_whatever_the_rules_say() -> None:
    rules = RedactionRules((Scrub(regex=".+"),))
    assert left(stream(b"data: x\n\n", b"data: [DONE]\n\n"), NOBODY, rules) == [
        b"data: <scrubbed>\n\n",
        b"data: [DONE]\n\n",
    ]


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (("say ", KEY[:4], KEY[4:9], KEY[9:] + "!"), ("say ", "<API_KEY>", "", "!")),
        (("to a", "@", "b c"), ("to <mail>", "", " c")),
        (("é", "一" + KEY[:4], KEY[4:], "a@b"), ("é", "一<API_KEY>", "", "<mail>")),
        ((KEY[:4], KEY[4:] + KEY[:4], KEY[4:]), ("<API_KEY>", "<API_KEY>", "")),
        (("to a@b", "cd", "e f"), ("to <mail>", "", " f")),
        (("no", "thing"), ("no", "thing")),
    ],
)
def test_what_is_told_in_pieces(pieces: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert left(stream(*map(chunk, pieces))) == [*map(chunk, told)]


def test_tokens_of_a_plain_answer_are_told_in_pieces_too() -> None:
    tokens = [{"token": token, "bytes": [1], "top_logprobs": []} for token in ("to ", "a@b", "cd")]
    reply = Recorded(200, (), json.dumps({"choices": [{"logprobs": {"content": tokens}}]}).encode())
    content = json.loads(redact_reply(reply, AWAY, MAIL).body)["choices"][0]["logprobs"]["content"]
    assert [(each["token"], each["bytes"]) for each in content] == [("to ", [1]), ("<mail>", None), ("", None)]


def test_data_on_several_lines_keep_them() -> None:
    assert left(stream(b'data: {"user":\ndata:  "me"}\n\n')) == [b'data: {"user":\ndata:  "<scrubbed>"}\n\n']


EVIL = {
    "a key a piece": (KEY,),
    "a letter a piece": tuple(KEY),
    "half keys": (KEY[:5],),
    "mails": ("a", "@", "b "),
    "an endless mail": ("a",),
    "placeholders": ("<API", "_KEY>"),
}


def spent(pieces: tuple[str, ...], count: int) -> float:
    """Seconds of work for a stream of so many events."""
    reply = stream(*map(chunk, pieces * (count // len(pieces))))
    start = process_time()
    redact_reply(reply, AWAY, MAIL)
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    half, whole = (min(spent(EVIL[evil], count) for _ in range(2)) for count in (1_000, 2_000))
    assert whole < 4 * half + 0.2
