"""What people are shown has no credential in it, in whatever form one is written."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.find import environment_secrets, mask
from mockserver.cassettes.redaction.redact import MAX_VALUES, Secrets, secrets_of

KEY = "sk-proj-0a1B2c/3+4="
MASKED = "sk-p...(masked)"


def test_a_credential_is_masked_in_other_headers_too() -> None:
    fields = ((b"authorization", f"Bearer {KEY}".encode()), (b"x-note", f"<{KEY}>".encode()))
    assert secrets_of(fields).headers(fields)[1] == (b"x-note", f"<{MASKED}>".encode())


def test_a_basic_credential_is_found_decoded_too() -> None:
    fields = ((b"authorization", b"Basic " + b64encode(b"user:hunter2!")),)
    assert secrets_of(fields).text("the password is hunter2!") == "the password is hu...(masked)"


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


def test_the_environment_knows_credentials_by_their_names() -> None:
    environ = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp_123456", "DB_PASSWORD": "abc", "KEYBOARD": "de_DE.UTF-8"}
    assert secrets_of((), more=environment_secrets(environ)).text(f"{KEY} ghp_123456") == f"{MASKED} gh...(masked)"


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
    coded = b64encode(f"user:{KEY}".encode()).decode()
    assert Secrets((KEY,)).text(f"Basic {coded}!") == f"Basic {MASKED}!"
    assert Secrets((KEY,)).text(f"Basic {coded.swapcase()}!") == f"Basic {coded.swapcase()}!"


def test_what_several_events_tell_together() -> None:
    def event(text: str) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})

    said = ("your key ", KEY[:4], KEY[4:10], KEY[10:] + " is", " good")
    told = Secrets((KEY,)).joined([*map(event, said), "[DONE]"])
    assert [json.loads(text)["choices"][0]["delta"]["content"] for text in told[:-1]] == [
        *("your key ", MASKED, "", " is", " good"),
    ]
    assert told[-1] == "[DONE]"


def test_what_finds_them_is_made_once() -> None:
    assert Secrets((KEY,))._found is Secrets((KEY,))._found
    assert Secrets().joined(["a"]) == ["a"]
