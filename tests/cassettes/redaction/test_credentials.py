"""Credentials are found by their names, in every spelling, and masked."""

import json
from base64 import b64encode
from time import process_time
from urllib.parse import quote

import pytest

from mockserver.cassettes.redaction.credential_fields import (
    CredentialFields,
    find_credentials,
    find_environment_secrets,
)
from mockserver.cassettes.redaction.credentials import MAX_LETTERS, PLACEHOLDER, is_distinctive, make_credentials
from mockserver.cassettes.redaction.shown_secrets import MAX_VALUES, Secrets, find_secrets

KEY = "sk-proj-0a1B2c/3+4="
MASKED = "sk-p...(masked)"


HEADERS = [
    ("authorization", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("Authorization", f"bearer  {KEY}", f"bearer  {MASKED}"),
    ("authorization", KEY, MASKED),
    ("authorization", "Digest a=b, c=d", "Digest a...(masked)"),
    ("proxy-authorization", f"Token {KEY}", f"Token {MASKED}"),
    ("cf-aig-authorization", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("Helicone-Auth", f"Bearer {KEY}", f"Bearer {MASKED}"),
    ("x-auth-key", KEY, MASKED),
    ("x-functions-key", KEY, MASKED),
    ("cf-access-jwt-assertion", KEY, MASKED),
    ("idempotency-key", KEY, KEY),
    ("x-author", KEY, KEY),
    ("api-key", KEY, MASKED),
    ("x-api-key", "abc", "...(masked)"),
    ("ocp-apim-subscription-key", KEY, MASKED),
    ("x-mockserver-token", KEY, MASKED),
    ("x-next-page-token", KEY, MASKED),
    ("cookie", f"theme=d; session={KEY}", f"theme=...(masked); session={MASKED}"),
    ("x-request-id", KEY, KEY),
    ("authorization", "", ""),
]


@pytest.mark.parametrize(("name", "value", "shown"), HEADERS)
def test_headers_that_hold_a_credential(name: str, value: str, shown: str) -> None:
    fields = ((name.encode(), value.encode()),)
    assert CredentialFields().redact_headers(fields) == ((name.encode(), shown.encode()),)


@pytest.mark.parametrize(
    "name",
    [
        "api-key",
        "key",
        "token",
        "access_token",
        "sig",
        "code",
        "API_KEY",
        "%6bey",
        "facebook_page_token",
        "homepage_token",
    ],
)
def test_parameters_of_a_query(name: str) -> None:
    query = f"a=1&{name}={quote(KEY)}&b".encode()
    assert list(find_credentials((), query)) == [KEY]
    assert CredentialFields().redact_query(query) == f"a=1&{name}={MASKED}&b".encode()


@pytest.mark.parametrize(
    "query",
    [
        b"api-version=2024-10-21",
        b"max_tokens=123456",
        b"monkey=capuchin",
        b"key",
        b"",
        b"page_token=aB3",
        b"nextSyncToken=aB3",
        b"continuation-token=aB3",
        b"next-token=aB3",
    ],
)
def test_other_parameters(query: bytes) -> None:
    assert CredentialFields().redact_query(query) == query


BODIES = [
    ({"api_key": KEY}, {"api_key": MASKED}),
    ({"a": [{"clientSecret": KEY}]}, {"a": [{"clientSecret": MASKED}]}),
    ({"authorization": f"Bearer {KEY}"}, {"authorization": "Bear...(masked)"}),
    ({"headers": {"X-Api-Key": "abc"}}, {"headers": {"X-Api-Key": "...(masked)"}}),
    ({"password": 'a"b\\c\u00e9\u4e00'}, {"password": "a...(masked)"}),
    ({"type": "api_key", "key": KEY}, {"type": "api_key", "key": MASKED}),
    ({"key": "Enter"}, {"key": "Enter"}),
    ({"pageToken": KEY[8:], "next_page_token": "aB3"},) * 2,
    *(
        ({"tools": [{"type": "mcp", "server_url": said}]}, {"tools": [{"type": "mcp", "server_url": shown}]})
        for said, shown in (
            (
                f"https://h/?a=b&api_key={KEY}&accessToken={KEY}#c",
                f"https://h/?a=b&api_key={MASKED}&accessToken={MASKED}#c",
            ),
            ("https://me:p@ss@h/é", "https://me:p...(masked)@h/é"),
            (f"https://{quote(KEY, safe='')}@h", f"https://{MASKED}@h"),
            ("https://h/a@b?page=2",) * 2,
            ("https://h/api/mcp/s/OGEwZjE3Y2MtNTk0/mcp", "https://h/api/mcp/s/OGEw...(masked)/mcp"),
            ("https://h/mcp/3f2504e0-4f89-11d3-9a0c-0305e82c3301?v=2", "https://h/mcp/3f25...(masked)?v=2"),
            ("https://h/@acme/mcp?config=eyJhIjoic2VjcmV0In0%3D", "https://h/@acme/mcp?config=eyJh...(masked)"),
            ("https://mcp1a2b3c4d5e6.h:8443/servers/notes-v2/2026-07-28/gpt-4o-mini/mcp",) * 2,
            ("not a URL: aB3dE6gH9kL2mN5",) * 2,
        )
    ),
    (
        {"session": {"tools": [{"type": "mcp", "headers": {"X": KEY, "Authorization": KEY, "Accept": "a/b"}}]}},
        {"session": {"tools": [{"type": "mcp", "headers": {"X": MASKED, "Authorization": MASKED, "Accept": "a/b"}}]}},
    ),
    (
        {"mcp_servers": [{"url": f"https://h/?key={KEY}", "authorization_token": KEY}]},
        {"mcp_servers": [{"url": f"https://h/?key={MASKED}", "authorization_token": MASKED}]},
    ),
    ({"tools": [{"type": "function", "headers": {"X-Foo": "type"}}, {"type": "mcp"}]},) * 2,
    ({"max_tokens": 7, "properties": {"token": {"type": "string"}}},) * 2,
]


@pytest.mark.parametrize(("body", "shown"), BODIES)
def test_fields_of_a_body(body: object, shown: object) -> None:
    raw = json.dumps(body).encode()
    assert json.loads(CredentialFields().redact_body(raw)) == shown


EVIL = {
    "quotes": b'"',
    "names": b'"a-a-a-',
    "letters": b"A",
    "beginnings": b'"token":"',
    "escapes": b'"token":"\\"token\\":',
    "blanks": b'"token"' + b" " * 1000,
    "backslashes": b'"token":"' + b"\\" * 1000,
    "pairs": b"key=abcdefg&",
    "keys": KEY.encode(),
    "beginnings of keys": KEY[:-1].encode(),
    "base64": b64encode(KEY.encode()),
    "base64 and no end": b64encode(KEY.encode()).rstrip(b"=") + b"A",
    **{
        f"escapes {escape.decode()}": escape
        for escape in (b"%25", b"%41", b"\\u0041", b"&amp;", b"&#0", b"=41", b"=\\n")
    },
}


def spent(data: bytes) -> float:
    start = process_time()
    list(find_credentials((), b"", data))
    CredentialFields().redact_body(data)
    make_credentials([KEY]).redact(data)
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    piece = EVIL[evil]
    half, whole = (min(spent(piece * (size // len(piece))) for _ in range(2)) for size in (150_000, 300_000))
    assert whole < 4 * half + 0.2


def test_quotes_beside_an_mcp_server_take_linear_time() -> None:
    def spent_on(quotes: int) -> float:
        tools = [{"type": "mcp", "server_url": f"https://h/?key={KEY}"}]
        return spent(json.dumps({"tools": tools, "input": '"' * quotes}).encode())

    half, whole = (min(spent_on(quotes) for _ in range(2)) for quotes in (75_000, 150_000))
    assert whole < 4 * half + 0.2


def test_the_tokens_of_logprobs_are_no_credentials() -> None:
    told = [{"token": " information", "logprob": -0.1, "bytes": None}, {"token": "x y", "bytes": [1], "logprob": 0}]
    assert list(find_credentials((), b"", json.dumps({"logprobs": told, "token": "hunter2"}).encode())) == ["hunter2"]


def test_the_environment_knows_credentials_by_their_names() -> None:
    environ = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp_123456", "DB_PASSWORD": "abc", "KEYBOARD": "de_DE.UTF-8"}
    assert find_environment_secrets(environ) == (KEY, "ghp_123456")


def test_a_basic_credential_is_found_decoded_too() -> None:
    fields = ((b"authorization", b"Basic " + b64encode(b"user:hunter2!")),)
    assert "hunter2!" in find_credentials(fields)


@pytest.mark.parametrize(
    ("value", "worth"),
    [
        (KEY, True),
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
        (f"a {KEY} b", "a <API_KEY> b"),
        (f"{KEY}{KEY}", "<API_KEY><API_KEY>"),
        (f"a={quote(KEY, safe='')}&b", "a=<API_KEY>&b"),
        (json.dumps({"a": KEY}), '{"a": "<API_KEY>"}'),
        (f'"{b64encode(KEY.encode()).decode()}"', '"<API_KEY>"'),
        (f'"{b64encode(b"user:" + KEY.encode() + b", and more").decode()}"', '"<API_KEY>"'),
        (KEY.upper(), "<API_KEY>"),
        ("".join(f"%{byte:02x}" for byte in KEY.encode()), "<API_KEY>"),
        ("".join(f"%{byte:02X}" for byte in KEY.encode()), "<API_KEY>"),
        (quote(KEY, safe="").replace("%2F", "%2f"), "<API_KEY>"),
        (
            b64encode(KEY.encode()).decode().swapcase(),
            b64encode(KEY.encode()).decode().swapcase(),
        ),
        ("nothing", "nothing"),
        ("<API_KEY>", "<API_KEY>"),
        (f"é{KEY}一", "é<API_KEY>一"),
    ],
)
def test_a_text_without_them(text: str, left: str) -> None:
    credentials = make_credentials([KEY])
    assert credentials.redact_text(text) == left
    assert credentials.redact(text.encode()) == left.encode()
    assert credentials.redact_text(left) == left


@pytest.mark.parametrize("before", ["\n", "\t", "é", "一\n", "/", '"', "C:\\", "\\\\", "=", "\U0001f511"])
@pytest.mark.parametrize("front", ["", "n", "~user:"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_escape_before_base64_stays_whole(before: str, front: str, ascii_only: bool) -> None:
    coded = b64encode(f"{front}{KEY}".encode()).decode()
    left = make_credentials([KEY]).redact_text(json.dumps({"a": before + coded}, ensure_ascii=ascii_only))
    assert json.loads(left)["a"].endswith("<API_KEY>")
    assert coded[4:-4] not in left


def test_what_overlaps_base64_goes_with_it() -> None:
    coded = b64encode(b"first-secretABC").decode()
    assert make_credentials(["first-secret", f"{coded[-4:]}!second"]).redact_text(f"{coded}!second") == "<API_KEY>"


@pytest.mark.parametrize(
    "text",
    [
        KEY.encode().hex()[:-2],
        KEY.encode()[:-1].hex(" "),
        b64encode(b64encode(KEY[:-3].encode())).decode(),
        "100%25 &amp; a=20, =\n \\u0041\\/ &#115; &nosuch; &#99999999;",
        "".join(f"&#{ord(letter)};" for letter in KEY[:-1]),
    ],
)
def test_what_is_no_form_of_a_key_stays(text: str) -> None:
    assert make_credentials([KEY, "abc-12"]).redact(data := text.encode()) is data


@pytest.mark.parametrize("before", ["é", "\\u00e9", "%C3%A9", "&eacute;", "=C3=A9", "a=b&c=", "\\\\n", "50%"])
def test_escapes_are_taken_out_whole_and_no_others(before: str) -> None:
    for form in (
        "".join(f"%{byte:02X}" for byte in KEY.encode()),
        KEY.replace("-", "\\u002d"),
        KEY.replace("0", "&#48;"),
    ):
        assert make_credentials([KEY]).redact_text(f"{before}{form}%20{before}") == f"{before}<API_KEY>%20{before}"


def test_nothing_is_changed_where_there_is_nothing() -> None:
    data = b"nothing of it"
    assert make_credentials([KEY]).redact(data) is data
    assert make_credentials([]).redact(data) is data
    assert make_credentials([]).redact_text("a") == "a"
    assert not make_credentials([]).are_in(data)
    assert make_credentials([KEY]).are_in(KEY.encode())


def test_no_more_are_looked_for_than_can_be() -> None:
    many = make_credentials(f"value-{number:09}" for number in range(MAX_LETTERS // 10))
    assert many.are_too_many
    assert many.redact_text("value-000000001") == PLACEHOLDER
    assert not make_credentials([KEY]).are_too_many


def test_what_is_not_ascii_is_masked_as_header_and_as_text() -> None:
    fields = ((b"x-api-key", "schlüssel-gruß".encode()),)
    secrets = find_secrets(fields)
    assert secrets.mask_text("der schlüssel-gruß!") == "der schl...(masked)!"
    assert secrets.mask_bytes("der schlüssel-gruß!".encode()) == b"der schl...(masked)!"


def test_a_short_value_is_masked_in_its_own_place_alone() -> None:
    fields = ((b"authorization", b"Bearer any"), (b"x-note", b"any key will do"))
    assert find_secrets(fields).mask_headers(fields) == (
        (b"authorization", b"Bearer ...(masked)"),
        (b"x-note", b"any key will do"),
    )


def test_what_several_events_tell_together() -> None:
    def event(text: str) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})

    said = ("your key ", KEY[:4], KEY[4:10], KEY[10:] + " is", " good")
    told = Secrets((KEY,)).mask_events([*map(event, said), "[DONE]"])
    assert [json.loads(text)["choices"][0]["delta"]["content"] for text in told[:-1]] == [
        "your key ",
        MASKED,
        "",
        " is",
        " good",
    ]
    assert told[-1] == "[DONE]"


def test_beyond_a_bound_values_are_masked_in_their_fields_only() -> None:
    body = json.dumps([{"token": f"value-{number}"} for number in range(MAX_VALUES + 10)]).encode()
    secrets = find_secrets((), b"", body)
    assert len(secrets.values) == MAX_VALUES
    assert b"value" not in secrets.mask_body(body)
