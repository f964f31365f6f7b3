"""A line for each request, as the setting `log` wants it. Nothing that a client says gets raw into one, no credential
at all.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType

import click

from mockserver.cassettes.redaction.find import environment_secrets
from mockserver.cassettes.redaction.redact import Secrets, secrets_of
from mockserver.core.exchange import Exchange
from mockserver.core.text import LONGEST, lines, printable
from mockserver.server.control.requests import of_row

Log = Callable[[Exchange], None]
Caught = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log(kind: str, *, err: bool = False) -> Log | None:
    """What to tell of each closed exchange, on standard output or on stderr; None: nothing."""
    written = LOGS[kind]
    return None if written is None else partial(_say, written, err)


def listen() -> None:
    """Write what goes wrong to stderr, as it is told with care."""
    handler = logging.StreamHandler()
    handler.setFormatter(Careful("%(message)s"))
    logging.basicConfig(handlers=[handler])


class Careful(logging.Formatter):
    """Tracebacks line by line, each escaped; nothing of it with a credential of the environment."""

    def format(self, record: logging.LogRecord) -> str:
        """All that is told."""
        return _of_environ().text(super().format(record))

    def formatException(self, ei: Caught) -> str:  # noqa: N802  # as the standard library calls it
        """The traceback of an exception; what is escaped hides nothing any more."""
        return lines(_of_environ().text(super().formatException(ei)))


def _of_environ() -> Secrets:
    return secrets_of((), more=environment_secrets(os.environ))


def _say(written: Callable[[Exchange], str], err: bool, exchange: Exchange) -> None:
    click.echo(written(exchange), err=err)


def _text(exchange: Exchange) -> str:
    secrets = of_row(exchange)
    path, source = (printable(secrets.text(text)) for text in (exchange.path, exchange.source))
    took = f"{exchange.elapsed * 1000:.1f} ms"
    told = f"{exchange.seq} {exchange.method} {path} -> {exchange.status} {source}"
    return f"{told}, {took}, {exchange.ending}"


def _json(exchange: Exchange) -> str:
    secrets = of_row(exchange)
    return json.dumps({name: _told(getattr(exchange, name), secrets) for name in _LOGGED})


def _told(value: object, secrets: Secrets) -> object:
    return secrets.text(value)[:LONGEST] if isinstance(value, str) else value


_LOGGED = (
    *("seq", "at", "method", "path", "dialect", "operation", "model", "namespace"),
    *("source", "status", "faults", "ended", "elapsed", "recorded", "unrecorded"),
)
LOGS: Mapping[str, Callable[[Exchange], str] | None] = {"none": None, "text": _text, "json": _json}
