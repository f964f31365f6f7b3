"""Requests that no rule answers, with `unmatched: error`: the error names the nearest rules, in every dialect."""

import re
from typing import Any

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import has_shape
from tests.kit.asgi import app

RULES = """\
rules:
  - {name: greeting, when: {last_user: {starts_with: hello, ignore_case: true}, model: gpt-4o*}, then: {text: Hi!}}
  - {name: goodbye, when: {last_user: {regex: 'bye|farewell'}, turn: {gte: 2}}, then: {text: Bye!}}
  - name: creative
    when: {any: [{param.temperature: {gt: 1.5}}, {system: "*poet*"}], not: {model: o3}}
    then: {text: O sea!}
  - {when: {header.x-tenant: acme}, then: {text: Acme.}}
"""


def error(text: str, model: str, dialect: str = "openai", **more: Any) -> str:
    """Return the message of the error, which is plain JSON also where a stream was wanted."""
    body = {"model": model, "messages": [{"role": "user", "content": text}], **more}
    answered = app(RULES, unmatched="error").ask(URLS[dialect], body)
    assert (answered.status, answered.source) == (404, "unmatched")
    assert answered.headers["content-type"] == "application/json"
    has_shape(answered.json, dialect, "error")
    found = answered.json["error"]
    message: str = found["message"] if isinstance(found, dict) else answered.json["message"]
    return re.sub(r"/\S+/rules\.yaml", "rules.yaml", message)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", URLS)
def test_every_dialect_says_the_same_in_its_own_body(dialect: str, stream: bool) -> None:
    message = error("Hello there", "o3", dialect, stream=stream)
    assert message == error("Hello there", "o3")
    assert "greeting" in message


def test_the_error_shows_three_rules_and_no_line_of_the_request() -> None:
    message = error("bye\n\u202eevil\u0000\x1b[31m " + "x" * 500, "m\nodel")
    assert len(re.findall(r"^  rules\.yaml:\d+", message, re.MULTILINE)) == 3
    assert all(line.isprintable() for line in message.splitlines())
    assert max(map(len, message.splitlines())) < 300
