"""A value is found in every form in which it may be written."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.find import as_bytes, in_base64, spellings

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
def test_a_form(name: str) -> None:
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
