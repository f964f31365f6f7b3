"""What a request gets whose head could not be read: the error of the dialect that it was meant for, as far as told."""

from collections.abc import Callable

from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.delivery.drive import COMPLETE
from mockserver.dialects import discover
from mockserver.server.live import Live
from mockserver.server.namespaces import DEFAULT, allowed
from mockserver.server.routes import owner


def refusal(live: Live) -> Callable[[Failure, str, str], Reply]:
    """Words a failure in the dialect of a path, and notes it in the journal."""

    def refuse(failure: Failure, method: str, path: str) -> Reply:
        namespace, inner = _parted(path)
        dialect = owner(inner, discover(), live.settings.dialect)
        exchange = live.journal.open(method, inner, dialect.name, namespace)
        reply = dialect.fail(HttpRequest(method, inner, namespace=namespace), failure, None)
        exchange.source, exchange.status, exchange.reply_headers = "invalid", reply.status, reply.headers
        live.journal.close(exchange, COMPLETE)
        return reply

    return refuse


def _parted(path: str) -> tuple[str, str]:
    """The namespace of a path, and the path without it."""
    if not path.startswith("/ns/"):
        return DEFAULT, path
    namespace, _, rest = path.removeprefix("/ns/").partition("/")
    return (namespace, f"/{rest}") if allowed(namespace) else (DEFAULT, path)
