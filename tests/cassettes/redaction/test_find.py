"""Credentials are found by their names, in every spelling, and masked."""

import json
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.find import (
    MAX_LETTERS,
    PLACEHOLDER,
    CredentialFields,
    Credentials,
    as_bytes,
    credentials,
    credentials_of,
    environment_secrets,
    in_base64,
    is_distinctive,
    mask,
    spellings,
)
from mockserver.cassettes.redaction.redact import MAX_VALUES, Secrets, secrets_of

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
    assert CredentialFields().headers(fields) == ((name.encode(), shown.encode()),)


@pytest.mark.parametrize("name", ["api-key", "key", "token", "access_token", "sig", "code", "API_KEY", "%6bey"])
def test_parameters_of_a_query(name: str) -> None:
    query = f"a=1&{name}={quote(KEY)}&b".encode()
    assert list(credentials((), query)) == [KEY]
    assert CredentialFields().query(query) == f"a=1&{name}={MASKED}&b".encode()


@pytest.mark.parametrize("query", [b"api-version=2024-10-21", b"max_tokens=123456", b"monkey=capuchin", b"key", b""])
def test_other_parameters(query: bytes) -> None:
    assert CredentialFields().query(query) == query


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
    assert json.loads(CredentialFields().body(raw)) == shown


def test_a_form() -> None:
    body = b"grant_type=x&client_secret=abcdef123"
    assert CredentialFields().body(body) == b"grant_type=x&client_secret=ab...(masked)"


def test_what_a_scheme_stands_before_is_found_alone() -> None:
    assert KEY in credentials((), b"", json.dumps({"authorization": f"Bearer {KEY}"}).encode())


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
    list(credentials((), b"", body))
    CredentialFields().body(body)
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    body = EVIL[evil]
    half, whole = min(spent(body[: HUGE // 2]) for _ in range(3)), min(spent(body) for _ in range(3))
    assert whole < 4 * half + 0.2


def test_the_tokens_of_logprobs_are_no_credentials() -> None:
    told = [{"token": " information", "logprob": -0.1, "bytes": None}, {"token": "x y", "bytes": [1], "logprob": 0}]
    assert list(credentials((), b"", json.dumps({"logprobs": told, "token": "hunter2"}).encode())) == ["hunter2"]


def test_something_else_may_stand_in_their_place() -> None:
    places = CredentialFields(lambda value: f"<{len(value)}>")
    assert places.query(b"key=abc&a=abcdefgh") == b"key=<3>&a=abcdefgh"
    assert places.body(b'{"token":"abc"}') == b'{"token":"<3>"}'


def test_the_environment_knows_credentials_by_their_names() -> None:
    environ = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp_123456", "DB_PASSWORD": "abc", "KEYBOARD": "de_DE.UTF-8"}
    assert environment_secrets(environ) == (KEY, "ghp_123456")


def test_a_basic_credential_is_found_decoded_too() -> None:
    fields = ((b"authorization", b"Basic " + b64encode(b"user:hunter2!")),)
    assert "hunter2!" in credentials(fields)


FORMS = {
    "as it is": 'a+b/c=d"e é',
    "a query": quote_plus('a+b/c=d"e é'),
    "a path": quote('a+b/c=d"e é'),
    "encodeURIComponent": "a%2Bb%2Fc%3Dd%22e%20%C3%A9",
    "encodeURI": "a+b/c=d%22e%20%C3%A9",
    "small percents": "a%2bb%2fc%3dd%22e%20%c3%a9",
    "wholly escaped": "%61%2B%62%2F%63%3D%64%22%65%20%C3%A9",
    "wholly escaped in JSON": "".join(f"\\u{ord(letter):04x}" for letter in 'a+b/c=d"e é'),
    "JSON": json.dumps('a+b/c=d"e é')[1:-1],
    "JSON as it is": 'a+b/c=d\\"e é',
    "JSON in JSON": json.dumps(json.dumps('a+b/c=d"e é')[1:-1])[1:-1],
    "JSON of PHP": 'a+b\\/c=d\\"e \\u00e9',
    "JSON of .NET": 'a\\u002Bb\\u002Fc\\u003Dd\\"e é',
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_a_value(name: str) -> None:
    assert FORMS[name] in set(spellings('a+b/c=d"e é'))


def test_what_came_in_a_header_may_have_been_utf_8() -> None:
    assert "gruß" in set(spellings("gruß".encode().decode("latin-1")))


@given(st.binary(max_size=5), st.text(st.characters(codec="ascii"), min_size=8, max_size=40), st.binary(max_size=5))
def test_base_64_among_other_bytes(before: bytes, value: str, after: bytes) -> None:
    data = before + value.encode() + after
    cores = tuple(in_base64(value))
    for letters in (b64encode(data).decode(), urlsafe_b64encode(data).decode()):
        assert any(core in letters for core in cores)
        assert any(quote(core, safe="") in quote(letters, safe="") for core in cores)


def test_a_short_value_cannot_be_told_in_base_64() -> None:
    assert not list(in_base64("abc"))


def test_bytes_come_in_two_encodings() -> None:
    assert list(as_bytes(iter(("é", "a", "a", "一")))) == [b"\xc3\xa9", b"\xe9", b"a", "一".encode()]


TRICKY = "sk-proj-0a1B2c/3+4="


@pytest.mark.parametrize(
    ("value", "worth"),
    [
        (TRICKY, True),
        ("hunter2", True),
        ("sk-test", True),
        ("ollama", False),
        ("openai", False),
        ("1234567", False),
        ("abc-1", False),
        ("", False),
        ("passwords", True),
        ("12345678", True),
        (PLACEHOLDER, False),
        (f"Bearer {PLACEHOLDER}", False),
        ("API_KEY", False),
    ],
)
def test_what_is_is_distinctive(value: str, worth: bool) -> None:
    assert is_distinctive(value) is worth


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a {TRICKY} b", "a <API_KEY> b"),
        (f"{TRICKY}{TRICKY}", "<API_KEY><API_KEY>"),
        (f"a={quote(TRICKY, safe='')}&b", "a=<API_KEY>&b"),
        (json.dumps({"a": TRICKY}), '{"a": "<API_KEY>"}'),
        (f'"{b64encode(TRICKY.encode()).decode()}"', '"<API_KEY>"'),
        (f'"{b64encode(b"user:" + TRICKY.encode() + b", and more").decode()}"', '"<API_KEY>"'),
        (TRICKY.upper(), "<API_KEY>"),
        ("".join(f"%{byte:02x}" for byte in TRICKY.encode()), "<API_KEY>"),
        ("".join(f"%{byte:02X}" for byte in TRICKY.encode()), "<API_KEY>"),
        (quote(TRICKY, safe="").replace("%2F", "%2f"), "<API_KEY>"),
        (
            b64encode(TRICKY.encode()).decode().swapcase(),
            b64encode(TRICKY.encode()).decode().swapcase(),
        ),
        ("nothing", "nothing"),
        ("<API_KEY>", "<API_KEY>"),
        (f"é{TRICKY}一", "é<API_KEY>一"),
    ],
)
def test_a_text_without_them(text: str, left: str) -> None:
    credentials = credentials_of([TRICKY])
    assert credentials.text(text) == left
    assert credentials.data(text.encode()) == left.encode()
    assert credentials.text(left) == left


@pytest.mark.parametrize("before", ["\n", "\t", "é", "一\n", "/", '"', "C:\\", "\\\\", "=", "\U0001f511"])
@pytest.mark.parametrize("front", ["", "n", "~user:"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_escape_before_base64_stays_whole(before: str, front: str, ascii_only: bool) -> None:
    coded = b64encode(f"{front}{TRICKY}".encode()).decode()
    left = credentials_of([TRICKY]).text(json.dumps({"a": before + coded}, ensure_ascii=ascii_only))
    assert json.loads(left)["a"].endswith("<API_KEY>")
    assert coded[4:-4] not in left


def test_a_quoted_letter_before_base64_stays_whole() -> None:
    coded = b64encode(TRICKY.encode()).decode().rstrip("=")
    assert credentials_of([TRICKY]).text(f"a=x%3D{coded}") == "a=x%3D<API_KEY>"


def test_of_two_that_begin_alike_each_goes_whole() -> None:
    assert credentials_of(["abcdef-1", "abcdef-123"]).text("abcdef-123 abcdef-1") == "<API_KEY> <API_KEY>"


def test_what_overlaps_base64_goes_with_it() -> None:
    coded = b64encode(b"first-secretABC").decode()
    assert credentials_of(["first-secret", f"{coded[-4:]}!second"]).text(f"{coded}!second") == "<API_KEY>"


def test_nothing_is_changed_where_there_is_nothing() -> None:
    data = b"nothing of it"
    assert credentials_of([TRICKY]).data(data) is data
    assert credentials_of([]).data(data) is data
    assert credentials_of([]).text("a") == "a"
    assert not credentials_of([]).are_in(data)
    assert credentials_of([TRICKY]).are_in(TRICKY.encode())


def test_of_credentials_something_else_may_stand_in_their_place() -> None:
    credentials = credentials_of([TRICKY, "hunter-2"], lambda value: f"({len(value)})")
    assert credentials.text(f"HUNTER-2 {TRICKY}") == "(8) (19)"


def test_what_is_not_text_is_left_alone() -> None:
    assert credentials_of([TRICKY]).data(b"\xff\xfe" + TRICKY.encode() + b"\xff") == b"\xff\xfe<API_KEY>\xff"


def test_no_more_are_looked_for_than_can_be() -> None:
    many = credentials_of(f"value-{number:09}" for number in range(MAX_LETTERS // 10))
    assert many.too_many
    assert many.text("value-000000001") == PLACEHOLDER
    assert not credentials_of([TRICKY]).too_many


SLOW = {
    "keys": TRICKY.encode(),
    "beginnings": TRICKY[:-1].encode(),
    "base64": b64encode(TRICKY.encode()),
    "base64 and no end": b64encode(TRICKY.encode()).rstrip(b"=") + b"A",
    "letters": b"A",
    "equals": b"=",
}


def finding_time(data: bytes) -> float:
    """Seconds of work for some data."""
    credentials = Credentials((TRICKY,))
    assert credentials.data(b"a") == b"a"
    start = process_time()
    credentials.data(data)
    return process_time() - start


@pytest.mark.parametrize("evil", SLOW)
def test_of_credentials_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    half, whole = (min(finding_time(SLOW[evil] * count) for _ in range(3)) for count in (20_000, 40_000))
    assert whole < 4 * half + 0.1


LONG_KEY = "sk-proj-0a1B2c/3+4="
SHOWN = "sk-p...(masked)"


def test_a_credential_is_masked_in_other_headers_too() -> None:
    fields = ((b"authorization", f"Bearer {LONG_KEY}".encode()), (b"x-note", f"<{LONG_KEY}>".encode()))
    assert secrets_of(fields).headers(fields)[1] == (b"x-note", f"<{SHOWN}>".encode())


def written(value: str) -> list[str]:
    """The forms in which a value may stand somewhere."""
    raw = value.encode()
    return [
        value,
        quote(value, safe=""),
        quote_plus(value).swapcase(),
        value.upper(),
        "".join(f"%{byte:02x}" for byte in raw),
        "".join(f"\\u{ord(letter):04X}" for letter in value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        *(b64encode(b"x" * before + raw + b"y" * 5).decode() for before in range(3)),
        *(urlsafe_b64encode(b"x" * before + raw).decode() for before in range(3)),
    ]


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
    secrets = secrets_of(((b"x-api-key", b"abcde1"), (b"api-key", b"abcde1-ghijkl")))
    assert secrets.text("abcde1-ghijkl abcde1") == "abc...(masked) a...(masked)"


def test_so_many_are_looked_for_everywhere_and_all_are_masked_where_they_stand() -> None:
    body = json.dumps([{"token": f"value-{number}"} for number in range(MAX_VALUES + 10)]).encode()
    secrets = secrets_of((), b"", body)
    assert len(secrets.values) == MAX_VALUES
    assert b"value" not in secrets.body(body)


def test_a_plain_short_word_is_masked_in_its_own_place_alone() -> None:
    fields = ((b"authorization", b"Bearer ollama"), (b"x-note", b"ollama runs"))
    assert secrets_of(fields).headers(fields) == (
        (b"authorization", b"Bearer o...(masked)"),
        (b"x-note", b"ollama runs"),
    )


def test_base64_goes_with_all_that_is_in_it() -> None:
    coded = b64encode(f"user:{LONG_KEY}".encode()).decode()
    assert Secrets((LONG_KEY,)).text(f"Basic {coded}!") == f"Basic {SHOWN}!"
    assert Secrets((LONG_KEY,)).text(f"Basic {coded.swapcase()}!") == f"Basic {coded.swapcase()}!"


def test_what_several_events_tell_together() -> None:
    def event(text: str) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})

    said = ("your key ", LONG_KEY[:4], LONG_KEY[4:10], LONG_KEY[10:] + " is", " good")
    told = Secrets((LONG_KEY,)).joined([*map(event, said), "[DONE]"])
    assert [json.loads(text)["choices"][0]["delta"]["content"] for text in told[:-1]] == [
        *("your key ", SHOWN, "", " is", " good"),
    ]
    assert told[-1] == "[DONE]"


def test_what_finds_them_is_made_once() -> None:
    assert Secrets((LONG_KEY,))._found is Secrets((LONG_KEY,))._found
    assert Secrets().joined(["a"]) == ["a"]
