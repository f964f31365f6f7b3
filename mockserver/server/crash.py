"""What the log says of a fault of our own: where it happened, without the credentials of the request it happened on."""

from traceback import format_exception

from mockserver.core.http import HttpRequest
from mockserver.core.printable import lines, printable
from mockserver.server.control.masked import of_request

LONGEST = 20_000  # characters of the end of a traceback; what an exception quotes may be a whole body


def crash(error: BaseException, http: HttpRequest) -> str:
    """The request's line and the traceback, each of its lines marked and escaped: none passes for another log line."""
    secrets = of_request(http)
    trace = secrets.text("".join(format_exception(error)).rstrip("\n"))
    told = f"a fault of mockserver itself, on {http.method} {printable(secrets.text(http.path))}"
    return f"{told}\n{lines(trace[-LONGEST:])}"
