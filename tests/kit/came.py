"""Calls that came, as values, without a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.plan import Usage
from mockserver.rules.load import Rule, load
from tests.kit.calls import call


@dataclass(frozen=True)
class Came:
    """A call that came."""

    asked: Call | None = field(default_factory=lambda: call("hello"))
    number: int = 1
    method: str = "POST"
    path: str = "/v1/chat/completions"
    operation: str = "chat"
    source: str = "unmatched"
    status: int = 404
    error: str = "no rule answers this request: there are no rules that answer"
    usage: Usage | None = None
    rules: tuple[Rule, ...] = ()
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def model(self) -> str:
        return "" if self.asked is None else self.asked.model

    @property
    def last_user(self) -> str:
        return "" if self.asked is None else self.asked.last_user


def rules(*tables: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules of a file, each answering with a text."""
    document = read(dumps({"rules": [{"then": {"text": "x"}, **table} for table in tables]}).encode(), "rules.yaml")
    return load((document,), {})
