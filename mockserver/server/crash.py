"""What the log says of a fault of our own: where it happened, without the credentials of the request it happened on."""

import os
from traceback import format_exception

from mockserver.core.http import HttpRequest
from mockserver.core.printable import lines, printable
from mockserver.core.secrets import known, secrets_of

LONGEST = 20_000  # characters of the end of a traceback; what an exception quotes may be a whole body


def crash(error: BaseException, http: HttpRequest) -> str:
    """The request's line and the traceback, each of its lines marked and escaped: none passes for another log line."""
    query = "&".join(f"{name}={value}" for name, value in http.query.items()).encode("utf-8", "replace")
    secrets = secrets_of(http.headers, query, http.body, known(os.environ))
    trace = secrets.text("".join(format_exception(error)).rstrip("\n"))
    told = f"a fault of mockserver itself, on {http.method} {printable(secrets.text(http.path))}"
    return f"{told}\n{lines(trace[-LONGEST:])}"
