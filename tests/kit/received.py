"""Received calls as values, without a server."""

import json
from collections.abc import Mapping
from typing import Any

from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.plan import Plan
from mockserver.core.row import Row
from mockserver.reports.calls import ReceivedCall
from mockserver.rules.load import Rule, load
from tests.kit.calls import call

NO_RULE = "no rule answers this request: there are no rules that answer"
SECRET = "sk-top-secret-thing-12345678"


def make_received(asked: Call | None = call("hello"), /, **fields: Any) -> ReceivedCall:  # noqa: B008
    """A call with these fields of its row; besides `source`, `error`, `usage`, and `number`. SECRET is its key."""
    source, error, usage = fields.pop("source", "unmatched"), fields.pop("error", NO_RULE), fields.pop("usage", None)
    row = Row(fields.pop("number", 1), "POST", "/v1/chat/completions", "openai", "default")
    row.plan = Plan(usage, source)
    row.headers, row.operation, row.status = [(b"authorization", f"Bearer {SECRET}".encode())], "chat", 404
    row.model = "" if asked is None else asked.model
    row.pieces = [(0.0, json.dumps({"error": {"message": error}}).encode())]
    for name, value in fields.items():
        setattr(row, name, value)
    return ReceivedCall(row, asked)


def rules(*tables: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules of a file, each answering with a text."""
    document = read(
        json.dumps({"rules": [{"then": {"text": "x"}, **table} for table in tables]}).encode(), "rules.yaml"
    )
    return load((document,), {})
