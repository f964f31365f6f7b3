"""Recordings contain no credentials, no other headers than listed, and nothing that the rules remove."""

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.find import Credentials, credentials_of
from mockserver.cassettes.redaction.redact import (
    ACCOUNT,
    NEVER,
    REGEX_SECONDS,
    REPLY,
    REQUEST,
    RedactionRules,
    redact_reply,
)
from mockserver.config.errors import CassetteError
from mockserver.config.recording import Scrub
from mockserver.core.episode import Recorded

SENT = {
    "content-type": True,
    "Accept": True,
    "openai-beta": True,
    "anthropic-version": True,
    "x-stainless-retry-count": True,
    "extra-parameters": True,
    "authorization": False,
    "api-key": False,
    "x-api-key": False,
    "cookie": False,
    "openai-organization": False,
    "openai-project": False,
    "user-agent": False,
    "x-stainless-os": False,
    "x-ms-client-request-id": False,
    "host": False,
    "content-length": False,
    "x-forwarded-for": False,
    "x-tenant": False,
}

CAME = {
    "content-type": True,
    "Retry-After": True,
    "retry-after-ms": True,
    "x-should-retry": True,
    "x-ratelimit-remaining-tokens": True,
    "x-ratelimit-limit-tokens-prompt": True,
    "anthropic-ratelimit-requests-reset": True,
    "openai-processing-ms": True,
    "openai-version": True,
    "x-request-id": True,
    "request-id": True,
    "apim-request-id": True,
    "x-ms-error-code": True,
    "x-ms-client-request-id": True,
    "fireworks-prompt-tokens": True,
    "allow": True,
    "openai-organization": False,
    "set-cookie": False,
    "x-ms-token": False,
    "x-ms-client-secret": False,
    "content-length": False,
    "content-encoding": False,
    "transfer-encoding": False,
    "connection": False,
    "www-authenticate": False,
    "server": False,
    "cf-ray": False,
    "date": False,
    "x-mockserver-source": False,
}


@pytest.mark.parametrize("name", SENT)
def test_of_a_request(name: str) -> None:
    assert REQUEST.of(((name, "v"),)) == (((name.lower(), "v"),) if SENT[name] else ())


@pytest.mark.parametrize("name", CAME)
def test_of_an_answer(name: str) -> None:
    assert REPLY.of(((name, "v"),)) == (((name.lower(), "v"),) if CAME[name] else ())


def test_what_is_asked_for_is_kept_too_but_for_what_never_is() -> None:
    headers = (("X-Tenant", "a"), ("x-tenant", "b"), ("set-cookie", "c"), ("x-other", "d"))
    assert REQUEST.of(headers, ("x-tenant", "set-cookie")) == (("x-tenant", "a"), ("x-tenant", "b"))


def test_no_table_has_what_is_never_kept() -> None:
    for kept in (REQUEST, REPLY):
        assert not kept.names & (NEVER | ACCOUNT)
        assert not any(map(kept.has, NEVER | ACCOUNT))


def path(text: str, instead: str = "<x>") -> Scrub:
    """A rule for what stands somewhere."""
    return Scrub(path=text, placeholder=instead)


def look(text: str, instead: str = "<x>") -> Scrub:
    """A rule for what looks so."""
    return Scrub(regex=text, placeholder=instead)


BODIES = [
    ((path("$.user"),), '{ "user" : "me",\n "a":1 }', '{ "user" : "<x>",\n "a":1 }'),
    ((path("$.user"),), '{"user": null}', '{"user": null}'),
    ((path("$.user"),), '{"user": 12}', '{"user": "<x>"}'),
    ((path("$.user", "0"),), '{"user": 12}', '{"user": 0}'),
    ((path("$.user", "-1.5e3"),), '{"user": "12"}', '{"user": "-1.5e3"}'),
    ((path("$.user", "true"),), '{"user": false}', '{"user": true}'),
    ((path("$.user", "true"),), '{"user": 7}', '{"user": "true"}'),
    ((path("$.user", "null"),), '{"user": 7}', '{"user": "null"}'),
    ((path("$.user", "é"),), '{"user": "a"}', '{"user": "\\u00e9"}'),
    ((path("$.user", "é"),), '{"user": "ü"}', '{"user": "é"}'),
    ((path("$.user", 'a"b'),), '{"user": "a"}', '{"user": "a\\"b"}'),
    (
        (path("$.meta"),),
        '{"meta": {"a": "b", "c": ["d", 1, null]}}',
        '{"meta": {"a": "<x>", "c": ["<x>", "<x>", null]}}',
    ),
    ((path("$..name"),), '{"name":"a","b":[{"name":"c"}]}', '{"name":"<x>","b":[{"name":"<x>"}]}'),
    ((path("$.a"), path("$.a.b", "<y>")), '{"a":{"b":"c"}}', '{"a":{"b":"<x>"}}'),
    ((look(r"\d{4}"),), '{"a":"call 1234 now","b":1234,"1234":12345}', '{"a":"call <x> now","b":"<x>","<x>":12345}'),
    ((look(r"\d{4}", "0000"),), '{"b":1234}', '{"b":"0000"}'),
    ((look(r"\d{4}", "7"),), '{"b":1234}', '{"b":7}'),
    ((look(r"true|null|\w+"),), '{"b":[true,null,"true"]}', '{"<x>":[true,null,"<x>"]}'),
    ((look('say "hi"'),), '{"a":"I say \\"hi\\""}', '{"a":"I <x>"}'),
    ((look("é"),), '{"a":"caf\\u00e9"}', '{"a":"caf<x>"}'),
    ((look("x*"),), '{"a":"abc"}', '{"a":"abc"}'),
    ((look(".+"),), "not JSON", "<x>"),
    ((look("a"), path("$.b")), "a=1&b=a", "<x>=1&b=<x>"),
    ((look(".+"),), "{broken", "<x>"),
    ((look("a"),), '"a text"', '"<x> text"'),
]


@pytest.mark.parametrize(("rules", "body", "left"), BODIES)
def test_a_body(rules: tuple[Scrub, ...], body: str, left: str) -> None:
    scrubs = RedactionRules(rules)
    assert scrubs.body(body.encode()).decode() == left
    assert scrubs.body(left.encode()).decode() == left


def test_a_body_that_has_nothing_of_it_is_the_very_same() -> None:
    body = b'{"a":1}'
    assert RedactionRules((path("$.b"), look("b"))).body(body) is body
    assert RedactionRules().body(body) is body
    assert RedactionRules().text("a") == "a"
    assert RedactionRules().either("a") == "a"


def test_bytes_that_are_no_text_stay() -> None:
    assert RedactionRules((look("a"),)).body(b"\xffa\xfe") == b"\xff<x>\xfe"


def test_what_a_rule_put_in_is_left_alone_by_all() -> None:
    scrubs = RedactionRules((look("secret", "<user>"), look("user", "<y>"), look(r"\w+", "<z>")))
    assert scrubs.text("secret user <API_KEY>") == "<user> <y> <API_KEY>"
    assert scrubs.text("secret word") == "<user> <z>"


def test_spans_stand_in_order_and_apart() -> None:
    scrubs = RedactionRules((look("bc", "1"), look("ab", "2"), look("e", "3")))
    assert list(scrubs.spans("abcde")) == [(0, 2, "2"), (4, 5, "3")]


@pytest.mark.parametrize("body", [b'{"a":"' + b"a" * 60 + b'!"}', b"a" * 60 + b"!"])
def test_a_pattern_that_takes_too_long_says_so(body: bytes) -> None:
    with pytest.raises(CassetteError) as refused:
        RedactionRules((look("(?:a|aa)+$"),)).body(body)
    said = f'scrub: the pattern "(?:a|aa)+$" takes over {REGEX_SECONDS:g} s, or all memory, on a text; make it simpler'
    assert str(refused.value) == said


@given(st.text(), st.sampled_from([r"\w+", "a", r"\S", "[<>]", "x|", "(?<=a)b", "s.r"]))
def test_twice_is_as_good_as_once(text: str, pattern: str) -> None:
    scrubs = RedactionRules((look(pattern, "<scrubbed>"),))
    once = scrubs.text(text)
    assert scrubs.text(once) == once


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
