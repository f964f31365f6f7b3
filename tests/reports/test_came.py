"""Calls in a line."""

import pytest

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.reports.calls import MOST, NONE_CAME, line, lines_of, listed, named, sources, told_by
from tests.dialects.features import URLS
from tests.kit.asgi import app
from tests.kit.calls import call
from tests.kit.came import Came


def test_a_call_in_a_line() -> None:
    assert line(Came(number=3, source="rule t.py:1")) == 'call 3: chat gpt-4o "hello" -> rule t.py:1'
    assert line(Came(call("bye\n\x1b[1m"), source="")) == 'call 1: chat gpt-4o "bye\\n\\u001b[1m" -> open'
    refused = Came(None, method="GET", path="/v1/x\n", operation="", source="invalid", status=405)
    assert line(refused) == "call 1: GET /v1/x\\n -> invalid (405)"
    assert "secret" not in line(Came(call("my top-secret-thing"), secrets=Secrets(("top-secret-thing",))))


def test_names_are_told_without_credentials_and_no_longer_than_they_are_read() -> None:
    secrets = Secrets(("top-secret-thing",))
    lost = Came(None, path="/v1/top-secret-thing/" + "x" * 9_999, operation="", source="invalid", secrets=secrets)
    for told in (
        line(lost),
        named(lost),
        line(Came(call("x", model="top-secret-thing" + "x" * 9_999), secrets=secrets)),
    ):
        assert "secret" not in told
        assert len(told) < 150


def test_what_answered_prompts_and_what_has_a_comma_in_its_name() -> None:
    assert "rule t.py:1 hello, you" in sources(Came(source="rule t.py:1 hello, you"))
    assert {"rule t.py:1", "rule t.py:2"} < {*sources(Came(source="rule t.py:1, rule t.py:2"))}


def test_a_call_where_there_is_little_room() -> None:
    assert named(Came()) == '"hello" (call 1)'
    assert named(Came(call("x" * 99))) == f'"{"x" * 39}…" (call 1)'
    assert named(Came(None, method="GET")) == "GET /v1/chat/completions (call 1)"
    assert "secret" not in named(Came(call("my top-secret-thing"), secrets=Secrets(("top-secret-thing",))))


def test_a_list_of_calls() -> None:
    assert listed(()) == NONE_CAME
    assert listed([Came(source="generated")]) == '1 call came:\n  call 1: chat gpt-4o "hello" -> generated'
    lines = list(lines_of([Came()] * (MOST + 7)))
    assert (len(lines), lines[-1]) == (MOST + 1, "  ... and 7 more")


@pytest.mark.parametrize("dialect", URLS)
def test_every_dialect_says_what_went_wrong(dialect: str) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    assert told_by(app("", unmatched="error").ask(URLS[dialect], asked).body).startswith("no rule answers this request")


@pytest.mark.parametrize("body", [b"", b"no", b"[1]", b"7", b'{"error": 7}', b'{"error": {"message": 7}}'])
def test_what_is_no_error_says_nothing(body: bytes) -> None:
    assert told_by(body) == ""
