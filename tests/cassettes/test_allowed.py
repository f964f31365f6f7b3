"""What may be recorded though it looks like a secret."""

from hashlib import sha256

import pytest

from mockserver.cassettes.redaction.leaks import allowed, entry_of
from mockserver.config.errors import ConfigError

KEY = "sk-proj-0a1B2c3D4e5F"


@pytest.mark.parametrize(
    "entry", [KEY, "sk-proj-*", "*4e5F", "*1B*3D*", "*", entry_of(KEY), "sha256:" + sha256(KEY.encode()).hexdigest()]
)
def test_an_entry_that_allows(entry: str) -> None:
    assert KEY in allowed(("other", entry))


@pytest.mark.parametrize(
    "entry", ["sk-proj-", "*4e5", "*3D*1B*", "sk-proj-0a1B2c3D4e5F*F", "\\*", entry_of("other"), "sk-proj-\\*"]
)
def test_an_entry_that_does_not(entry: str) -> None:
    assert KEY not in allowed((entry,))


def test_a_star_can_be_meant() -> None:
    assert "a*b" in allowed(("a\\*b",))


def test_nothing_is_allowed_unless_it_is_said() -> None:
    assert KEY not in allowed(())


@pytest.mark.parametrize("entry", ["sha256:", "sha256:1234567", "sha256:nothexadecimal", "sha256:" + "0" * 65])
def test_a_hash_that_is_none(entry: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^allow_secrets: {entry} must have 8 to 64 hexadecimal digits after sha256:"
    ):
        allowed((entry,))


def test_an_entry_tells_nothing_of_its_value() -> None:
    assert entry_of(KEY) == "sha256:" + sha256(KEY.encode()).hexdigest()[:16]
