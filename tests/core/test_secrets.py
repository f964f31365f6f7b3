"""Credentials are found by the names they go by, and masked in every form that they may be written in."""

import json
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.secrets import MOST, Secrets, credentials, known, mask, secrets_of

KEY = "sk-proj-0a1B2c/3+4="
MASKED = "sk-p...(masked)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (KEY, MASKED),
        ("sk-test", "s...(masked)"),
        ("abc", "...(masked)"),
        ('"' * 40, "...(masked)"),
        ("", "...(masked)"),
    ],
)
def test_a_long_value_can_be_known_by_its_beginning(value: str, shown: str) -> None:
    assert mask(value) == shown


HEADERS = [
    ("authorization", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("Authorization", f"bearer  {KEY}", f"bearer  {MASKED}"),
    ("authorization", KEY, MASKED),
    ("authorization", "Digest a=b, c=d", "Digest a...(masked)"),
    ("proxy-authorization", f"Token {KEY}", f"Token {MASKED}"),
    ("cf-aig-authorization", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("Helicone-Auth", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("x-auth", KEY, MASKED),
    ("x-auth-key", KEY, MASKED),
    ("x-functions-key", KEY, MASKED),
    ("cf-access-jwt-assertion", KEY, MASKED),
    ("idempotency-key", KEY, KEY),
    ("x-author", KEY, KEY),
    ("api-key", KEY, MASKED),
    ("x-api-key", "abc", "...(masked)"),
    ("ocp-apim-subscription-key", KEY, MASKED),
    ("x-mockserver-token", KEY, MASKED),
    ("cookie", f"theme=d; session={KEY}", f"theme=...(masked); session={MASKED}"),
    ("x-request-id", KEY, KEY),
    ("authorization", "", ""),
]


@pytest.mark.parametrize(("name", "value", "shown"), HEADERS)
def test_headers_that_hold_a_credential(name: str, value: str, shown: str) -> None:
    fields = ((name.encode(), value.encode()),)
    assert secrets_of(fields).headers(fields) == ((name.encode(), shown.encode()),)


def test_a_credential_is_masked_in_other_headers_too() -> None:
    fields = ((b"authorization", f"Bearer {KEY}".encode()), (b"x-note", f"<{KEY}>".encode()))
    assert secrets_of(fields).headers(fields)[1] == (b"x-note", f"<{MASKED}>".encode())


@pytest.mark.parametrize("name", ["api-key", "key", "token", "access_token", "sig", "code", "API_KEY", "%6bey"])
def test_parameters_of_a_query(name: str) -> None:
    query = f"a=1&{name}={quote(KEY)}&b".encode()
    secrets = secrets_of((), query)
    assert secrets.values == (KEY,)
    assert secrets.query(query) == f"a=1&{name}={MASKED}&b".encode()


@pytest.mark.parametrize("query", [b"api-version=2024-10-21", b"max_tokens=123456", b"monkey=capuchin", b"key", b""])
def test_other_parameters(query: bytes) -> None:
    assert secrets_of((), query).query(query) == query


BODIES = [
    ({"api_key": KEY}, {"api_key": MASKED}),
    ({"a": [{"clientSecret": KEY}]}, {"a": [{"clientSecret": MASKED}]}),
    ({"authorization": f"Bearer {KEY}"}, {"authorization": "Bear...(masked)"}),
    ({"headers": {"X-Api-Key": "abc"}}, {"headers": {"X-Api-Key": "...(masked)"}}),
    ({"password": 'a"b\\c\u00e9\u4e00'}, {"password": "a...(masked)"}),
    ({"type": "api_key", "key": KEY}, {"type": "api_key", "key": MASKED}),
    ({"key": "Enter"}, {"key": "Enter"}),
    ({"max_tokens": 7, "properties": {"token": {"type": "string"}}},) * 2,
]


@pytest.mark.parametrize(("body", "shown"), BODIES)
def test_fields_of_a_body(body: object, shown: object) -> None:
    raw = json.dumps(body).encode()
    assert json.loads(secrets_of((), b"", raw).body(raw)) == shown


def test_a_form() -> None:
    body = b"grant_type=x&client_secret=abcdef123"
    assert secrets_of((), b"", body).body(body) == b"grant_type=x&client_secret=ab...(masked)"


def test_what_a_scheme_stands_before_is_found_alone() -> None:
    assert KEY in secrets_of((), b"", json.dumps({"authorization": f"Bearer {KEY}"}).encode()).values


def test_a_basic_credential_is_found_decoded_too() -> None:
    fields = ((b"authorization", b"Basic " + b64encode(b"user:hunter2!")),)
    assert secrets_of(fields).text("the password is hunter2!") == "the password is hu...(masked)"


def written(value: str) -> list[str]:
    """The forms in which a value may stand somewhere."""
    raw = value.encode()
    return [
        value,
        quote(value, safe=""),
        quote(value, safe="").lower() if value.islower() else quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        *(b64encode(b"x" * before + raw + b"y" * 5).decode() for before in range(3)),
        *(urlsafe_b64encode(b"x" * before + raw).decode() for before in range(3)),
    ]


def told(value: str, secrets: Secrets) -> str:
    """All forms of a value as a person sees them, in one text."""
    return secrets.text(" | ".join(written(value)))


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=8, max_size=40))
def test_every_form_is_masked(value: str) -> None:
    secrets = Secrets((value,))
    assert all(mask(value) in secrets.text(form) for form in written(value))
    assert all(mask(value) in secrets.data(form.encode()).decode() for form in written(value))


def test_what_is_not_ascii_is_masked_as_header_and_as_text() -> None:
    fields = ((b"x-api-key", "schlüssel-gruß".encode()),)
    secrets = secrets_of(fields)
    assert secrets.text("der schlüssel-gruß!") == "der schl...(masked)!"
    assert secrets.data("der schlüssel-gruß!".encode()) == b"der schl...(masked)!"


def test_a_short_value_is_masked_in_its_own_place_alone() -> None:
    fields = ((b"authorization", b"Bearer any"), (b"x-note", b"any key will do"))
    assert secrets_of(fields).headers(fields) == (
        (b"authorization", b"Bearer ...(masked)"),
        (b"x-note", b"any key will do"),
    )


def test_of_two_that_begin_alike_each_is_masked_whole() -> None:
    secrets = secrets_of(((b"x-api-key", b"abcdef"), (b"api-key", b"abcdef-ghijkl")))
    assert secrets.text("abcdef-ghijkl abcdef") == "abc...(masked) a...(masked)"


def test_the_environment_knows_credentials_by_their_names() -> None:
    environ = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp_123456", "DB_PASSWORD": "abc", "KEYBOARD": "de_DE.UTF-8"}
    assert known(environ) == (KEY, "ghp_123456")
    assert secrets_of((), more=known(environ)).text(f"{KEY} ghp_123456") == f"{MASKED} gh...(masked)"


HUGE = 400_000
EVIL = {
    "quotes": b'"' * HUGE,
    "names": b'"a-a-a-' * (HUGE // 7),
    "letters": b'"' + b"a" * HUGE,
    "beginnings": b'"token":"' * (HUGE // 9),
    "escapes": b'"token":"' + b'\\"token\\":' * (HUGE // 10),
    "blanks": b'"token"' + b" " * HUGE,
    "backslashes": b'"token":"' + b"\\" * HUGE,
    "many": b"".join(b'"token":"value%d",' % number for number in range(HUGE // 20)),
    "pairs": b"key=abcdefg&" * (HUGE // 12),
}


def spent(body: bytes) -> float:
    start = process_time()
    secrets_of((), b"", body).body(body)
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    body = EVIL[evil]
    half, whole = min(spent(body[: HUGE // 2]) for _ in range(3)), min(spent(body) for _ in range(3))
    assert whole < 4 * half + 0.2


def test_so_many_are_looked_for_everywhere_and_all_are_masked_where_they_stand() -> None:
    body = json.dumps([{"token": f"value-{number}"} for number in range(MOST + 10)]).encode()
    secrets = secrets_of((), b"", body)
    assert len(secrets.values) == MOST
    assert b"value" not in secrets.body(body)


def test_the_tokens_of_logprobs_are_no_credentials() -> None:
    told = [{"token": " information", "logprob": -0.1, "bytes": None}, {"token": "x y", "bytes": [1], "logprob": 0}]
    assert list(credentials((), b"", json.dumps({"logprobs": told, "token": "hunter2"}).encode())) == ["hunter2"]


def test_something_else_may_stand_in_their_place() -> None:
    secrets = Secrets(("abcdefgh",), lambda value: f"<{len(value)}>")
    assert secrets.text("an abcdefgh") == "an <8>"
    assert secrets.query(b"key=abc&a=abcdefgh") == b"key=<3>&a=<8>"
    assert secrets.body(b'{"token":"abc"}') == b'{"token":"<3>"}'
