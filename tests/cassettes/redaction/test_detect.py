"""Each kind of secret is found by its look, wherever it stands; what only resembles one is not, however long it is."""

import random
import string
from collections.abc import Iterator
from time import process_time

import pytest

from mockserver.cassettes.redaction.detect import (
    DETECTORS,
    Detector,
)
from mockserver.cassettes.redaction.random_text import is_random


def found(text: bytes) -> Iterator[bytes]:
    for detector in DETECTORS:
        for start, end in detector.find(text, text.lower()):
            yield text[start:end]


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_its_example_is_found(detector: Detector) -> None:
    for around in ("%b", '{"a":"%b"}', "see: %b.", "a\\n%b\\nb", "a%%20%b&b", "<%b>", "(%b)"):
        text = around.encode() % detector.example.encode()
        values = [text[start:end] for start, end in detector.find(text, text.lower())]
        assert values
        assert all(value.rstrip(b".").removesuffix(b"\\nb") in detector.example.encode() for value in values)


ANNOUNCED = [
    "api key: %s", "API_KEY=%s", '"apiKey":"%s"', '\\"api_key\\": \\"%s\\"', "your password is %s", "Bearer %s",
    "Authorization: Bearer %s", "token=%s", "the token `%s`", "secret => '%s'", "AWS_SECRET_ACCESS_KEY = %s",
    'name="api_key"\r\n\r\n%s\r\n--', "client_secret\\n%s", "**API key**: %s", "access-token %s", "credentials: %s",
    '{"accessToken": "%s"}', '{"githubToken": "%s"}', '{"nextPageToken": "Bearer %s"}',
    "AccountKey=%s;", "session_token: %s", "Ocp-Apim-Subscription-Key: %s",
]  # fmt: skip


@pytest.mark.parametrize("text", ANNOUNCED)
def test_what_a_word_announces(text: str) -> None:
    assert b"8fK2qLmN0pR4sT6vX9zB" in list(found((text % "8fK2qLmN0pR4sT6vX9zB").encode()))


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
def test_a_credential_in_the_place_of_a_page_token_is_found(detector: Detector) -> None:
    assert list(found(b'{"nextPageToken": "%b"}' % detector.example.encode()))


HARMLESS = [
    "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
    "call_h8K2mNp4Qr6St8Uv0Wx2Yz4A",
    "toolu_01A09q90qw90lq917835lq9",
    "fp_44709d6fcb",
    "req_8f2a1b4c6d0e9f7a3b5c1d2e4f6a8b0c",
    "rs_0a8f2b4c6d8e0f1a3b5c7d9e1f",
    "file-8fK2qLmN0pR4sT6vX9zB1d",
    "550e8400-e29b-41d4-a716-446655440000",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "gAAAAABoISKzYGmXd8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1tV3wX5yZ7aB9cD1eF3gH5iJ7kL9mN==",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    '{"token":" characteristically","logprob":-0.1,"bytes":[32,99]}',
    '{"max_tokens": 4096, "completion_tokens": 1234567890123456}',
    '{"first_token":1,"tokens_per_second_and_user_0123":2}',
    "task-8fK2qLmN0pR4sT6vX9zB and desk-8fK2qLmN0pR4sT6vX9zB",
    "sk-learn-preprocessing-standard-scaler",
    "OPENAI_API_KEY=sk-your-key-here-0123456789",
    "api_key = os.environ['OPENAI_API_KEY_FOR_GPT4']",
    "export OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "password: str = Field(min_length=8)",
    "postgres://user:password123@localhost/db",
    "https://example.com:8080/a@b",
    "-----BEGIN PRIVATE KEY-----\\n...\\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8fK2qLmN",
    "-----BEGIN CERTIFICATE-----\\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8fK2qLmN",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "next_page_token: CAUQAA8fK2qLmN0pR4sT6v",
    '{"nextPageToken": "Ch9tb2RlbHMvZ2VtaW5pLTIuNS1mbGFzaC1saXRl"}',
    "pageToken=8fK2qLmN0pR4sT6vX9zB&continuationToken=8fK2qLmN0pR4sT6vX9zB",
    '{"cursor": "8fK2qLmN0pR4sT6vX9zB", "after": "8fK2qLmN0pR4sT6vX9zB", "next_cursor": "8fK2qLmN0pR4sT6vX9zB"}',
    "paginationToken: 8fK2qLmN0pR4sT6vX9zB, the next token: 8fK2qLmN0pR4sT6vX9zB, NextToken=8fK2qLmN0pR4sT6vX9zB",
    "The secret of good bread is patience, and a token of it: flour.",
    "Incorrect API key provided: <API_KEY>. You can find your API key at https://platform.openai.com/account/api-keys.",
    "Incorrect API key provided: sk-proj-********************4F2a.",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret(text: str) -> None:
    assert not list(found(text.encode()))


HUGE = 100_000
EVIL = {
    "jwts without an end": b"eyJhbGciOiJIUzI1NiJ9.",
    "keys within keys": b"sk-" + b"a1" * 40,
    "blanks": b"token" + b" " * 200,
    "quotes": b'token"\\"\\"',
    "breaks": b"token: \\n\\n\\n\\n",
    "headers of keys": b"-----BEGIN PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\n",
    "addresses": b"://a:",
    "colons": b"://" + b"a" * 60 + b":",
    "letters": b"a",
    "backslashes": b"\\",
    "words": b"password is secret token bearer ",
}


def spent(piece: bytes, size: int) -> float:
    data = piece * (size // len(piece))
    small, start = data.lower(), process_time()
    for detector in DETECTORS:
        list(detector.find(data, small))
    return process_time() - start


@pytest.mark.parametrize("evil", EVIL)
def test_twice_as_much_takes_about_twice_as_long(evil: str) -> None:
    half, whole = (min(spent(EVIL[evil], size) for _ in range(2)) for size in (HUGE // 2, HUGE))
    assert whole < 4 * half + 0.1


ALPHABETS = {
    "hexadecimal": "0123456789abcdef",
    "small": string.ascii_lowercase + string.digits,
    "mixed": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
}


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("length", [24, 32, 64])
def test_nearly_all_that_chance_makes_is_random(alphabet: str, length: int) -> None:
    chance = random.Random(f"{alphabet} {length}")
    made = ["".join(chance.choices(ALPHABETS[alphabet], k=length)) for _ in range(1000)]
    assert sum(map(is_random, made)) > (920 if alphabet == "small" else 975)
