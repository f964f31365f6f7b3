"""Recordings contain no credentials, no other headers than listed, and nothing that the rules remove."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.credentials import Credentials, make_credentials
from mockserver.cassettes.redaction.redact import ACCOUNT, NEVER, REPLY, REQUEST, redact_reply
from mockserver.cassettes.redaction.scrub_rules import REGEX_SECONDS, RedactionRules
from mockserver.config.errors import CassetteError
from mockserver.config.settings import Scrub
from mockserver.core.episode import Recorded

KEPT = (
    "content-type", "Accept", "openai-beta", "anthropic-version", "x-stainless-retry-count", "extra-parameters",
    "X-Tenant", "api-key",  # the last two are compared
)  # fmt: skip
LEFT_OUT = (
    "authorization", "x-api-key", "cookie", "openai-organization", "openai-project", "user-agent", "x-stainless-os",
    "x-ms-client-request-id", "host", "content-length", "x-forwarded-for", "set-cookie",
)  # fmt: skip
ANSWERED = (
    "content-type", "Retry-After", "retry-after-ms", "x-should-retry", "x-ratelimit-remaining-tokens", "allow",
    "anthropic-ratelimit-requests-reset", "openai-processing-ms", "openai-version", "x-request-id", "request-id",
    "apim-request-id", "x-ms-error-code", "x-ms-client-request-id", "fireworks-prompt-tokens",
)  # fmt: skip
NOT_ANSWERED = (
    "openai-organization", "set-cookie", "x-ms-token", "x-ms-client-secret", "content-length", "content-encoding",
    "transfer-encoding", "connection", "www-authenticate", "server", "cf-ray", "date", "x-mockserver-source",
)  # fmt: skip


def test_which_headers_are_kept() -> None:
    sent = REQUEST.select(tuple((name, "v") for name in (*KEPT, *LEFT_OUT)), ("x-tenant", "api-key", "set-cookie"))
    assert sent == tuple((name.lower(), "v") for name in KEPT)
    answered = REPLY.select(tuple((name, "v") for name in (*ANSWERED, *NOT_ANSWERED, *NEVER, *ACCOUNT)))
    assert answered == tuple((name.lower(), "v") for name in ANSWERED)


def path(text: str, instead: str = "<x>") -> Scrub:
    return Scrub(path=text, placeholder=instead)


def look(text: str, instead: str = "<x>") -> Scrub:
    return Scrub(regex=text, placeholder=instead)


BODIES = [
    ((path("$.user"),), '{ "user" : "me",\n "a":1.50 }', '{"user":"<x>","a":1.50}'),
    ((path("$.user"),), '{"user": null}', '{"user": null}'),
    ((path("$.user"),), '{"user": 12}', '{"user": "<x>"}'),
    ((path("$.user", "0"),), '{"user": 12}', '{"user": 0}'),
    ((path("$.user", "-1.5e3"),), '{"user": "12"}', '{"user": "-1.5e3"}'),
    ((path("$.user", "true"),), '{"user": false}', '{"user": true}'),
    ((path("$.user", "true"),), '{"user": 7}', '{"user": "true"}'),
    ((path("$.user", "null"),), '{"user": 7}', '{"user": "null"}'),
    ((path("$.user", "é"),), '{"user": "\\u00fc"}', '{"user": "\\u00e9"}'),
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
    assert scrubs.redact_body(body.encode()).decode() == left
    assert scrubs.redact_body(left.encode()).decode() == left


@pytest.mark.parametrize("rule", [look(r"CUST-\d+"), path("$.user")])
def test_a_repeated_key_is_refused(rule: Scrub) -> None:
    with pytest.raises(CassetteError, match="has a key twice"):
        RedactionRules((rule,)).redact_body(b'{"id":"c","user":"CUST-1234","user":null}')


def test_redacted_names_stay_distinct() -> None:
    body = RedactionRules((look(r"id\d+"),)).redact_body(b'{"id1":{"tokens":5},"id2":{"tokens":7}}')
    assert json.loads(body) == {"<x>": {"tokens": 5}, "<x> 2": {"tokens": 7}}


def test_what_a_rule_put_in_is_left_alone_by_all() -> None:
    scrubs = RedactionRules((look("secret", "<user>"), look("user", "<y>"), look(r"\w+", "<z>")))
    assert scrubs.redact_text("secret user <API_KEY>") == "<user> <y> <API_KEY>"
    assert scrubs.redact_text("secret word") == "<user> <z>"


@pytest.mark.parametrize("body", [b'{"a":"' + b"a" * 60 + b'!"}', b"a" * 60 + b"!"])
def test_a_pattern_that_takes_too_long_says_so(body: bytes) -> None:
    with pytest.raises(CassetteError) as refused:
        RedactionRules((look("(?:a|aa)+$"),)).redact_body(body)
    said = f'scrub: the pattern "(?:a|aa)+$" took more than {REGEX_SECONDS:g} s, or ran out of memory, on a text; '
    assert str(refused.value) == f"{said}simplify it"


@given(st.text(), st.sampled_from([r"\w+", "a", r"\S", "[<>]", "x|", "(?<=a)b", "s.r"]))
def test_twice_is_as_good_as_once(text: str, pattern: str) -> None:
    scrubs = RedactionRules((look(pattern, "<scrubbed>"),))
    once = scrubs.redact_text(text)
    assert scrubs.redact_text(once) == once


KEY = "sk-proj-0a1B2c/3+4="
AWAY, NOBODY = make_credentials([KEY]), Credentials()
MAIL = RedactionRules((Scrub(regex=r"\w+@\w+", placeholder="<mail>"), Scrub(path="$.user")))


def chunk(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def stream(*events: bytes) -> Recorded:
    return Recorded(200, (), b"", tuple((number / 10, event) for number, event in enumerate(events)))


def left(reply: Recorded, away: Credentials = AWAY, rules: RedactionRules = MAIL) -> list[bytes]:
    found = redact_reply(reply, away, rules)
    assert found.frames is not None
    assert reply.frames is not None
    assert [at for at, _ in found.frames] == [at for at, _ in reply.frames]
    assert redact_reply(found, away, rules) == found
    return [event for _, event in found.frames]


def test_what_holds_no_secret_stays_to_the_byte() -> None:
    events = (b": ping\n\n", chunk("a"), b"event: x\r\ndata:{}\r\n\r\n", b"data: {broken\n\n", b"data: [DONE]\n\n")
    assert left(stream(*events)) == list(events)
    body = b"\xff\xfe not text \xc3"
    assert redact_reply(Recorded(200, (), body), AWAY, MAIL).body is body


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
