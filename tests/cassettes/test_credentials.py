"""Values of credentials leave one placeholder, in whatever form they are written."""

import json
from base64 import b64encode
from time import process_time
from urllib.parse import quote

import pytest

from mockserver.cassettes.redaction.find import MAX_LETTERS, PLACEHOLDER, Credentials, credentials_of, is_distinctive

KEY = "sk-proj-0a1B2c/3+4="


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
        (b64encode(KEY.encode()).decode().swapcase(), b64encode(KEY.encode()).decode().swapcase()),
        ("nothing", "nothing"),
        ("<API_KEY>", "<API_KEY>"),
        (f"é{KEY}一", "é<API_KEY>一"),
    ],
)
def test_a_text_without_them(text: str, left: str) -> None:
    credentials = credentials_of([KEY])
    assert credentials.text(text) == left
    assert credentials.data(text.encode()) == left.encode()
    assert credentials.text(left) == left


@pytest.mark.parametrize("before", ["\n", "\t", "é", "一\n", "/", '"', "C:\\", "\\\\", "=", "\U0001f511"])
@pytest.mark.parametrize("front", ["", "n", "~user:"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_escape_before_base64_stays_whole(before: str, front: str, ascii_only: bool) -> None:
    coded = b64encode(f"{front}{KEY}".encode()).decode()
    left = credentials_of([KEY]).text(json.dumps({"a": before + coded}, ensure_ascii=ascii_only))
    assert json.loads(left)["a"].endswith("<API_KEY>")
    assert coded[4:-4] not in left


def test_a_quoted_letter_before_base64_stays_whole() -> None:
    coded = b64encode(KEY.encode()).decode().rstrip("=")
    assert credentials_of([KEY]).text(f"a=x%3D{coded}") == "a=x%3D<API_KEY>"


def test_of_two_that_begin_alike_each_goes_whole() -> None:
    assert credentials_of(["abcdef-1", "abcdef-123"]).text("abcdef-123 abcdef-1") == "<API_KEY> <API_KEY>"


def test_what_overlaps_base64_goes_with_it() -> None:
    coded = b64encode(b"first-secretABC").decode()
    assert credentials_of(["first-secret", f"{coded[-4:]}!second"]).text(f"{coded}!second") == "<API_KEY>"


def test_nothing_is_changed_where_there_is_nothing() -> None:
    data = b"nothing of it"
    assert credentials_of([KEY]).data(data) is data
    assert credentials_of([]).data(data) is data
    assert credentials_of([]).text("a") == "a"
    assert not credentials_of([]).are_in(data)
    assert credentials_of([KEY]).are_in(KEY.encode())


def test_something_else_may_stand_in_their_place() -> None:
    credentials = credentials_of([KEY, "hunter-2"], lambda value: f"({len(value)})")
    assert credentials.text(f"HUNTER-2 {KEY}") == "(8) (19)"


def test_what_is_not_text_is_left_alone() -> None:
    assert credentials_of([KEY]).data(b"\xff\xfe" + KEY.encode() + b"\xff") == b"\xff\xfe<API_KEY>\xff"


def test_no_more_are_looked_for_than_can_be() -> None:
    many = credentials_of(f"value-{number:09}" for number in range(MAX_LETTERS // 10))
    assert many.too_many
    assert many.text("value-000000001") == PLACEHOLDER
    assert not credentials_of([KEY]).too_many


EVIL = {
    "keys": KEY.encode(),
    "beginnings": KEY[:-1].encode(),
    "base64": b64encode(KEY.encode()),
    "base64 and no end": b64encode(KEY.encode()).rstrip(b"=") + b"A",
    "letters": b"A",
    "equals": b"=",
}


def spent(data: bytes) -> float:
    """Seconds of work for some data."""
    credentials = Credentials((KEY,))
    assert credentials.data(b"a") == b"a"
    start = process_time()
    credentials.data(data)
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    half, whole = (min(spent(EVIL[evil] * count) for _ in range(3)) for count in (20_000, 40_000))
    assert whole < 4 * half + 0.1
