"""Nothing of a credential is left in what is kept, wherever it stood and however it was written there.

What is asked with another credential equals what was recorded.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.cassettes.redaction.credentials import MAX_LETTERS
from mockserver.cassettes.redaction.redact import Redactor
from mockserver.config.errors import CassetteError
from mockserver.config.settings import Scrub
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import HttpRequest
from mockserver.server.snapshot import parse_query

KEY, FAKE = "sk-proj-0a1B2c/3+4=", "sk-fake"
JSON = (("content-type", "application/json"),)


def episode(sent: Sent, reply: Recorded | None = None) -> Episode:
    return Episode("openai", "chat", "gpt-4o", sent, reply or Recorded(200))


def post(body: object, headers: tuple[tuple[str, str], ...] = (), query: str = "") -> Sent:
    return Sent("POST", "/v1/chat/completions", query, JSON + headers, json.dumps(body).encode())


POSITIONS: dict[str, Callable[[str], tuple[Redactor, Sent]]] = {
    "bearer": lambda key: (Redactor(), post({}, (("authorization", f"Bearer {key}"),))),
    "basic": lambda key: (
        Redactor(),
        post({}, (("authorization", "Basic " + b64encode(f"user:{key}".encode()).decode()),)),
    ),
    "x-api-key": lambda key: (Redactor(), post({}, (("x-api-key", key),))),
    "api-key": lambda key: (Redactor(), post({}, (("Api-Key", key),))),
    "cookie": lambda key: (Redactor(), post({}, (("cookie", f"a=b; session={key}"),))),
    "query": lambda key: (Redactor(), post({}, (), f"api-version=1&key={quote_plus(key)}")),
    "field": lambda key: (Redactor(), post({"tools": [{"authorization": key}]})),
    "header of an MCP server": lambda key: (
        Redactor(),
        post({"tools": [{"type": "mcp", "headers": {"X-Foo": key}}]}),
    ),
    "address of an MCP server": lambda key: (
        Redactor(),
        post({"tools": [{"type": "mcp", "server_url": f"https://h/?key={quote_plus(key)}"}]}),
    ),
    "environment": lambda key: (Redactor((), (key,)), post({})),
}

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: f"it is {key}, indeed",
    "URL": lambda key: f"https://a.example/?q={quote(key, safe='')}&b",
    "form": lambda key: quote_plus(key),
    "small percents": lambda key: quote(key, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
    "JSON": lambda key: json.dumps({"said": key}),
    "JSON in JSON": lambda key: json.dumps({"said": json.dumps({"said": key})}),
    "JSON of PHP": lambda key: key.replace("/", "\\/"),
    **{
        f"base64, {before} before": lambda key, before=before: b64encode(b"x" * before + key.encode() + b"!?").decode()
        for before in range(3)
    },
    "base64 twice": lambda key: b64encode(b64encode(f"!{key}!".encode())).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "every percent twice": lambda key: "".join(f"%25{byte:02x}" for byte in key.encode()),
    "some entities": lambda key: "".join(f"&#{ord(letter)};" if at % 2 else letter for at, letter in enumerate(key)),
    "base64 of URLs": lambda key: urlsafe_b64encode(f"user:{key}".encode()).decode(),
}


def places(text: str) -> Iterator[Callable[[Sent], Episode]]:
    said = {"choices": [{"index": 0, "message": {"content": text}}]}
    chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
    frames = ((0.1, b": ping\n\n"), (0.2, b"data: " + json.dumps(chunk).encode() + b"\n\n"), (0.3, b"data: [DONE]\n\n"))
    yield lambda sent: episode(_with(sent, body=json.dumps({**json.loads(sent.body), "messages": [text]}).encode()))
    yield lambda sent: episode(_with(sent, path=f"/v1/files/{quote(text)}"))
    yield lambda sent: episode(_with(sent, query=f"{sent.query}&q={quote(text)}"))
    yield lambda sent: episode(_with(sent, headers=(*sent.headers, ("accept", text))))
    yield lambda sent: episode(sent, Recorded(200, JSON, json.dumps(said).encode()))
    yield lambda sent: episode(sent, Recorded(502, (("content-type", "text/html"),), f"<p>{text}</p>".encode()))
    yield lambda sent: episode(sent, Recorded(200, (("x-request-id", text),), b"{}"))
    yield lambda sent: episode(sent, Recorded(200, (), b"", frames))


def _with(sent: Sent, **changes: object) -> Sent:
    fields = {name: getattr(sent, name) for name in ("method", "path", "query", "headers", "body")}
    return Sent(**(fields | changes))  # type: ignore[arg-type]


def kept(found: Episode) -> bytes:
    sent, reply = found.request, found.reply
    texts = [found.model, sent.path, sent.query, *(value for _, value in (*sent.headers, *reply.headers))]
    return b"\n".join([*(text.encode() for text in texts), sent.body, reply.bytes])


def traces(key: str) -> Iterator[bytes]:
    for text in (key, quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1]):
        yield text.encode()
    for before in range(3):
        letters = b64encode(b"\0" * before + key.encode())
        yield letters[(0, 2, 3)[before] : (before + len(key.encode())) * 8 // 6]


@pytest.mark.parametrize(("position", "encoding"), [*product(POSITIONS, ENCODINGS)])
def test_nothing_is_left(position: str, encoding: str) -> None:
    scrubber, sent = POSITIONS[position](KEY)
    for place in places(ENCODINGS[encoding](KEY)):
        once = scrubber.redact_episode(place(sent))
        assert not [trace for trace in traces(KEY) if trace in kept(once)]
        assert b"<API_KEY>" in kept(once)
        assert scrubber.redact_episode(once) == once


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec="ascii", exclude_categories=("C", "Z")), min_size=8, max_size=60).filter(
        lambda key: key not in "<API_KEY>" and "<API_KEY>" not in key and key.strip("-;=,\"'") == key
    ),
    st.sampled_from(sorted(set(POSITIONS) - {"cookie", "basic"})),
    st.sampled_from(sorted(ENCODINGS)),
)
def test_nothing_is_left_of_any_key(key: str, position: str, encoding: str) -> None:
    scrubber, sent = POSITIONS[position](key)
    for place, empty in zip(places(ENCODINGS[encoding](key)), places(""), strict=True):
        once = scrubber.redact_episode(place(sent))
        left = kept(once).replace(b"<API_KEY>", b"\0")
        by_itself = kept(empty(post({})))  # what stands there anyway
        assert not [trace for trace in traces(key) if trace in left and trace not in by_itself]
        assert scrubber.redact_episode(once) == once


@pytest.mark.parametrize(("position", "encoding"), [*product(sorted(POSITIONS), ENCODINGS)])
def test_with_another_key_it_is_equal(position: str, encoding: str) -> None:
    for one, other in zip(places(ENCODINGS[encoding](KEY)), places(ENCODINGS[encoding](FAKE)), strict=True):
        scrubber, sent = POSITIONS[position](KEY)
        recorded = scrubber.redact_episode(one(sent)).request
        tester, fake = POSITIONS[position](FAKE)
        live = tester.redact_request(other(fake).request)
        assert (live.path, live.query, live.body) == (recorded.path, recorded.query, recorded.body)
        assert dict(recorded.headers).items() <= dict(live.headers).items()


def test_a_key_in_a_field_of_its_own_is_taken_out_however_short_it_is() -> None:
    scrubber = Redactor()
    recorded = scrubber.redact_episode(episode(post({"api_key": KEY}, (), "key=" + quote(KEY)))).request
    live = scrubber.redact_request(post({"api_key": "x"}, (), "key=y"))
    assert (live.body, live.query) == (recorded.body, recorded.query) == (b'{"api_key": "<API_KEY>"}', "key=<API_KEY>")


def test_headers_that_are_compared_are_kept_without_credentials() -> None:
    scrubber = Redactor((), (), (), ("X-Tenant", "authorization"))
    sent = post({}, (("authorization", f"Bearer {KEY}"), ("x-tenant", f"of {KEY}")))
    recorded = scrubber.redact_episode(episode(sent)).request
    assert recorded.headers == (*JSON, ("authorization", "Bearer <API_KEY>"), ("x-tenant", "of <API_KEY>"))
    assert scrubber.redact_request(post({}, (("authorization", "Bearer x"),))).headers[1:] == recorded.headers[1:2]


ACCOUNT = ("openai-organization", "OpenAI-Project", "x-ms-client-principal-id")
SAID = "The weather at sunshine corp: sunshine all day, in organization sunshine"


@pytest.mark.parametrize("name", ACCOUNT)
def test_who_has_the_account_is_no_credential(name: str) -> None:
    sent = post({"messages": [SAID], "user": "sunshine"}, ((name, "sunshine"),), "of=sunshine")
    reply = Recorded(200, (*JSON, (name, "sunshine"), ("x-request-id", "req_sunshine")), SAID.encode())
    assert Redactor().redact_request(sent) is sent
    kept = Redactor().redact_episode(episode(sent, reply))
    assert (kept.request.body, kept.request.query, kept.reply.body) == (sent.body, sent.query, reply.body)
    assert kept.request.headers == JSON
    assert kept.reply.headers == (*JSON, ("x-request-id", "req_sunshine"))


def test_a_request_in_which_nothing_is_to_be_done_is_the_very_same() -> None:
    sent = post({"model": "gpt-4o", "token_limit": 3}, (("authorization", f"Bearer {KEY}"), ("cookie", "a=b")))
    assert Redactor().redact_request(sent) is sent
    assert Redactor((Scrub(path="$.user"), Scrub(regex="nobody")), ("another-key",)).redact_request(sent) is sent


def live_request(sent: Sent) -> HttpRequest:
    headers = [(name.lower().encode(), value.encode()) for name, value in sent.headers]
    return HttpRequest(sent.method, sent.path, parse_query(sent.query.encode()), headers, sent.body)


def test_a_request_with_a_credential_in_its_headers_alone_is_not_changed() -> None:
    headers = (("authorization", f"Bearer {KEY}"), ("cookie", "a=b"), ("user-agent", "it is me"))
    assert not Redactor((), ("another-key",)).may_change(live_request(post({"token_limit": 3}, headers)))


@pytest.mark.parametrize(("position", "encoding"), [*product(sorted(POSITIONS), ENCODINGS)])
def test_every_request_that_changes_may_change(position: str, encoding: str) -> None:
    scrubber, sent = POSITIONS[position](KEY)
    for place in places(ENCODINGS[encoding](KEY)):
        placed = place(sent).request
        assert scrubber.redact_request(placed) is placed or scrubber.may_change(live_request(placed))
    for rules in (Redactor(RULES), Redactor((), (), (), ("authorization",))):
        assert rules.may_change(live_request(sent))


def test_what_is_allowed_is_kept() -> None:
    sent = post({"api_key": "public-demo", "messages": ["public-demo", KEY]}, (("x-api-key", KEY),))
    kept_body = json.loads(Redactor((), (), ("public-*",)).redact_request(sent).body)
    assert kept_body == {"api_key": "public-demo", "messages": ["public-demo", "<API_KEY>"]}


def events(pieces: list[str]) -> tuple[tuple[float, bytes], ...]:
    bodies = ({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces)
    return tuple((number / 10, f"data: {json.dumps(body)}\n\n".encode()) for number, body in enumerate(bodies))


def told(reply: Recorded) -> list[str]:
    assert reply.frames is not None
    return [json.loads(frame[6:])["choices"][0]["delta"]["content"] for _, frame in reply.frames]


@given(st.lists(st.integers(0, 60), max_size=8), st.sampled_from(["é", "a", "一"]))
def test_however_it_is_cut(cuts: list[int], around: str) -> None:
    text = f"{around}{KEY}{around}"
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in pairwise(ends)]
    sent = post({}, (("authorization", f"Bearer {KEY}"),))
    found = Redactor().redact_episode(episode(sent, Recorded(200, (), b"", events(pieces)))).reply
    assert "".join(told(found)) == f"{around}<API_KEY>{around}"


RULES = (Scrub(path="$.user", placeholder="<user>"), Scrub(regex=r"[a-z]+@[a-z.]+", placeholder="<mail>"))


def test_the_user_s_rules_apply_everywhere() -> None:
    sent = post({"model": "m", "user": "u-7", "messages": ["to a@b.example"]}, (), "mail=a%40b.example&x=1%2B")
    reply = Recorded(
        200,
        (("x-request-id", "req-a@b.example"), *JSON),
        b'{"user": "u-7", "to": "a@b.example"}',
    )
    scrubber = Redactor(RULES)
    found = scrubber.redact_episode(episode(sent, reply))
    assert json.loads(found.request.body) == {"model": "m", "user": "<user>", "messages": ["to <mail>"]}
    assert found.request.query == "mail=<mail>&x=1%2B"
    assert found.reply.headers == (("x-request-id", "req-<mail>"), *JSON)
    assert found.reply.body == b'{"user": "<user>", "to": "<mail>"}'
    live = scrubber.redact_request(sent)
    assert live == found.request
    assert scrubber.redact_episode(found) == found


def test_the_name_of_the_model_is_scrubbed_as_the_request_s_is() -> None:
    scrubber = Redactor((Scrub(path="$.model", placeholder="<model>"),))
    assert scrubber.redact_episode(episode(post({"model": "gpt-4o"}))).model == "<model>"
    assert (
        Redactor((), ("gpt-4o-mine-0123",))
        .redact_episode(Episode("a", "b", "ft:gpt-4o-mine-0123", post({}), Recorded(200)))
        .model
        == "ft:<API_KEY>"
    )
    assert Redactor(RULES).redact_episode(episode(post({}))).model == "gpt-4o"


def test_more_credentials_than_can_be_found_again_stop_the_recording() -> None:
    many = [{"token": f"token-{number:020}"} for number in range(MAX_LETTERS // 20)]
    with pytest.raises(CassetteError, match="the request has over 32000 characters of credentials, too many"):
        Redactor().redact_episode(episode(post(many)))
    assert Redactor().redact_request(post(many)).body.count(b'"token": "<API_KEY>"') == len(many)
