"""What chance made and what a person wrote."""

import random
import string

import pytest

from mockserver.cassettes.redaction.detect import is_fake, is_jwt, is_password, is_random, is_token

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


WRITTEN = [
    *("sk-your-api-key-1234", "your_api_key_here_0123", "sk-test-51Nx8Kq2Lm9Rb4Tz", "AKIAIOSFODNN7EXAMPLE"),
    *("xxxxxxxxxxxxxxxxxxxx", "sk-00000000000000000000", "1234567890abcdefghij", "<API_KEY>", "sk-1234567890abcdef"),
    *(
        "MySecretPassword123!",
        "process.env.OPENAI_API_KEY",
        "settings.AZURE_OPENAI_ENDPOINT_V2",
        "getServerSideToken2x",
    ),
    *(
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "fake-0a8fK2qLmN0pR4s",
        "sk-this-is-wrong-0193",
        "dXNlcjpwYXNzd29yZA==",
    ),
    *(
        "/usr/local/lib/python3.11/site-packages",
        "gpt-4o-mini-2024-07-18",
        "2024-10-21T10:11:12.123Z",
        "12345678901234567890",
    ),
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_a_person_wrote_is_not(text: str) -> None:
    assert not is_random(text)


def test_letters_alone_may_be_a_token() -> None:
    assert is_token("KwErTbUiNpAsDvGhJkLzXcVb")
    assert not is_random("KwErTbUiNpAsDvGhJkLzXcVb")


@pytest.mark.parametrize(
    ("text", "fake"),
    [
        ("8fK2qLmN0pR4", False),
        ("aaaaaaaaaa", True),
        ("a-test-8fK2qL", True),
        ("contest8fK2qL", False),
        ("abababab", True),
    ],
)
def test_what_is_fake(text: str, fake: bool) -> None:
    assert is_fake(text) is fake


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("q8!fK2#Lm0pR", True),
        ("8fK2qLmN0p", True),
        ("password1", False),
        ("correcthorsebattery", False),
        ("os.environ.get1", False),
        ("hash(x1y2z3w4)", False),
        ("${DB_PASS_2}", False),
        ("changeme123", False),
    ],
)
def test_passwords(text: str, real: bool) -> None:
    assert is_password(text) is real


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.k3Vn8Zq1Xb6Wm9Rc4Yd7Lf5Gs0Pj2Tt", True),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.k3Vn8Zq1Xb6Wm9Rc4Yd7Lf5Gs0Pj2Tt", False),
        ("eyJzdWIiOiJhbGljZSJ9.eyJzdWIiOiJhbGljZSJ9.k3Vn8Zq1Xb6Wm9Rc", False),
        ("eyJ!!.a.b", False),
        ("", False),
    ],
)
def test_jwts(text: str, real: bool) -> None:
    assert is_jwt(text) is real
