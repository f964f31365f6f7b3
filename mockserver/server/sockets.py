"""Paths without a WebSocket. A client that asks for one there gets a 426, on which it goes on over HTTP.

On any other status Codex tries again and again, for seconds, before it uses HTTP.
"""

from mockserver.core.http import Headers, HttpRequest
from mockserver.core.plan import Failure

UPGRADE = (b"upgrade", b"websocket")
_INSTEAD: Headers = (("upgrade", "HTTP/1.1"), ("connection", "Upgrade"))  # a 426 must name a protocol (RFC 9110)


def refuse_socket(http: HttpRequest) -> None:
    """Refuse a request that asks for a WebSocket. Raises Failure (426)."""
    if http.method == "GET" and "websocket" in (http.header("upgrade") or "").lower():
        message = f"mockserver serves no WebSocket at {http.path}. Send the request over HTTP."
        raise Failure("method_not_allowed", message, status=426, headers=_INSTEAD)
