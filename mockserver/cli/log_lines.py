"""What a server prints while it runs: a line for each request, as the setting `log` asks for, remarks, and errors.

Client input is escaped before it is logged, and credentials are masked.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

import click

from mockserver.core.plan import CRASH
from mockserver.core.row import Row
from mockserver.core.text import MAX_LOG_LINE, escape_line, escape_lines
from mockserver.reports.calls import UNMATCHED
from mockserver.server.live import Worker
from mockserver.server.masking import find_row_secrets

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets


def make_request_logger(kind: str, *, err: bool = False, worker: Worker | None = None) -> Callable[[Row], None] | None:
    """Return a function that logs a closed row to standard output or stderr, or None for the kind `none`."""
    line = _LOG_LINES[kind]
    return None if line is None else lambda row: write_line(line(row, worker), err=err)


def write_line(text: str, *, err: bool = False) -> None:
    """Print a line to standard output or stderr. If nobody reads these any more, requests are answered all the same."""
    try:
        click.echo(text, err=err)
    except BrokenPipeError:  # for good, and noted again at exit: as Python's documentation of SIGPIPE advises
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
    except OSError:  # a full disk may have room again
        pass


def make_remark_logger() -> Callable[[Row], None]:
    """Return a function that logs to stderr which calls a rule failed on, and the remarks on answers, each once."""
    said = set[str]()

    def log_row(row: Row) -> None:
        if row.defect and row.source != CRASH:  # its traceback is logged
            write_line(f"call {row.seq}: {describe_defect(row)}", err=True)
        for remark in list_remarks(row):
            if remark not in said and len(said) < _MAX_REMARKS:
                said.add(remark)
                write_line(f"call {row.seq}: {remark}", err=True)

    return log_row


def log_unmatched(row: Row) -> None:
    """Log a closed row to stderr if nothing answered it: what `serve` prints without a log of all requests."""
    if row.source == UNMATCHED:
        path = escape_line(find_row_secrets(row).mask_text(row.path))
        write_line(f"call {row.seq}: no rule answered {row.method} {path} ({row.status})", err=True)


def describe_defect(row: Row) -> str:
    """Return what is wrong with the rule, or with mockserver, on one line and without credentials."""
    return escape_line(find_row_secrets(row).mask_text(row.defect), _LONGEST_REMARK)


def list_remarks(row: Row) -> list[str]:
    """Return the remarks on an answer, on one line each and without credentials."""
    return [escape_line(find_row_secrets(row).mask_text(remark), _LONGEST_REMARK) for remark in row.remarks]


_MAX_REMARKS = 1_000
_LONGEST_REMARK = 1_500  # characters: a remark may quote a whole error of the provider


def _write_text_line(row: Row, worker: Worker | None) -> str:
    secrets = find_row_secrets(row)
    path, source = (escape_line(secrets.mask_text(text)) for text in (row.path, row.source))
    result = f"{row.status} {source}, {row.elapsed * 1000:.1f} ms, {row.ending}"
    name = "" if worker is None else f"worker {worker.number}: "
    return f"{name}{row.seq} {row.method} {path} -> {result}"


def _write_json_line(row: Row, worker: Worker | None) -> str:
    secrets = find_row_secrets(row)
    values = {name: getattr(row, name) for name in _LOGGED} | {"remarks": list_remarks(row)}
    values |= {} if worker is None else {"worker": worker.number}
    return json.dumps(
        {
            name: secrets.mask_text(value)[:MAX_LOG_LINE] if isinstance(value, str) else value
            for name, value in values.items()
        }
    )


_LOGGED = (
    "seq", "at", "method", "path", "dialect", "operation", "model", "namespace",
    "source", "status", "faults", "ended", "elapsed", "recorded", "unrecorded",
)  # fmt: skip
_LOG_LINES: Mapping[str, Callable[[Row, Worker | None], str] | None] = {
    "none": None,
    "text": _write_text_line,
    "json": _write_json_line,
}


def log_errors(*ignored: str, name: str = "") -> None:
    """Write the log records of this process to stderr, escaped and with credentials masked, but for some loggers'."""
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(f"{name}%(message)s"))
    handler.addFilter(lambda record: record.name not in ignored)
    logging.basicConfig(handlers=[handler])


_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class RedactingFormatter(logging.Formatter):
    """Escapes tracebacks line by line, and masks the credentials that the environment holds."""

    def format(self, record: logging.LogRecord) -> str:
        return _find_environment_secrets().mask_text(super().format(record))

    def formatException(self, ei: _ExceptionInfo) -> str:  # noqa: N802  # named by the standard library
        """Return the traceback; credentials are masked first, as escapes could hide them."""
        return escape_lines(_find_environment_secrets().mask_text(super().formatException(ei)))


def _find_environment_secrets() -> "Secrets":
    from mockserver.cassettes.redaction.credential_fields import find_environment_secrets  # slow: a hundred patterns
    from mockserver.cassettes.redaction.shown_secrets import find_secrets

    return find_secrets((), more=find_environment_secrets(os.environ))
