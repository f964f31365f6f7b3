"""Handshakes of WebSockets (RFC 6455, 4.2.1): which requests are one, and why one is refused over HTTP."""

from base64 import b64decode

from mockserver.config.settings import Settings
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.plan import Failure
from mockserver.server.access import check_key, check_page
from mockserver.server.routes import Endpoint

VERSION = b"13"


def is_handshake(http: HttpRequest) -> bool:
    """Return whether a request asks to go on over a WebSocket."""
    return asks_for_socket(http.method, http.find_header("upgrade") or "")


def asks_for_socket(method: str, upgrade: str) -> bool:
    """Return whether a request of a method asks to go on over a WebSocket, by its header Upgrade."""
    return method == "GET" and "websocket" in upgrade.lower()


def opens_sockets(endpoint: Endpoint, settings: Settings) -> bool:
    """Return whether clients may talk to an endpoint over a WebSocket."""
    return settings.sockets and bool(endpoint.socket)


def admits_socket(http: HttpRequest, endpoint: Endpoint, settings: Settings) -> bool:
    """Return whether a client may go on over a WebSocket; one that may not gets its refusal over HTTP."""
    if not opens_sockets(endpoint, settings):
        return False
    try:
        check_handshake(http, endpoint, settings)
    except Failure:
        return False
    return True


def check_handshake(http: HttpRequest, endpoint: Endpoint, settings: Settings) -> None:
    """Refuse what must not open a WebSocket: other pages, wrong keys, handshakes with mistakes. Raises Failure.

    A session of the realtime API checks the key itself, so that a client with a wrong one gets a WebSocket, and so does
    one of Gemini Live that a token opens.
    """
    check_page(http, settings)
    checks_itself = endpoint.socket == "realtime" or http.path.endswith("BidiGenerateContentConstrained")
    if settings.keys is not None and not checks_itself:
        check_key(endpoint.dialect.read_credential(http), settings.keys)
    version = http.header_values.get(b"sec-websocket-version")
    if version != VERSION:
        why = "is missing" if version is None else "must be 13"
        raise Failure("bad_parameter", f"The header Sec-WebSocket-Version {why}.", status=426, headers=_KNOWN_VERSION)
    keys = [value for name, value in http.headers if name == b"sec-websocket-key"]
    if len(keys) != 1 or not _is_nonce(keys[0]):
        raise Failure("bad_parameter", "The header Sec-WebSocket-Key must be 16 bytes in base64, once.", status=400)
    _check_lists(http)


def _check_lists(http: HttpRequest) -> None:
    """Refuse what is not a list of protocols or of extensions. Raises Failure."""
    from websockets.exceptions import InvalidHeaderFormat  # few servers need it
    from websockets.headers import parse_extension, parse_subprotocol

    for name, parse in ((b"sec-websocket-protocol", parse_subprotocol), (b"sec-websocket-extensions", parse_extension)):
        for value in [value for field, value in http.headers if field == name]:
            try:
                parse(value.decode("latin-1"))
            except InvalidHeaderFormat as error:
                raise Failure("bad_parameter", f"The request has an {error}.", status=400) from None


def refuse_handshake(http: HttpRequest, endpoint: Endpoint, settings: Settings) -> Failure:
    """Return why a handshake does not open a WebSocket: it has a mistake, or there is no WebSocket here."""
    if opens_sockets(endpoint, settings):
        try:
            check_handshake(http, endpoint, settings)
        except Failure as failure:
            return failure
    message = f"There is no WebSocket at {http.path}. Send the request over HTTP."
    return Failure("method_not_allowed", message, status=426, headers=_UPGRADE_TO_HTTP)


def _is_nonce(key: bytes) -> bool:
    try:
        return len(b64decode(key.strip(), validate=True)) == 16
    except ValueError:
        return False


# A 426 must name a protocol (RFC 9110). On it Codex goes on over HTTP; on any other status it retries for seconds.
_UPGRADE_TO_HTTP: Headers = (("upgrade", "HTTP/1.1"), ("connection", "Upgrade"))
_KNOWN_VERSION: Headers = (("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-version", "13"))
