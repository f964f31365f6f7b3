"""What a request's head must be beyond what llhttp sees to: its size, its Host, its target, what it expects.

Pure: bytes in, values out. It knows no socket, no clock, no dialect and no operation.
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from mockserver.cassettes.masking import secrets_of
from mockserver.core.plan import Failure

MAX_TARGET, MAX_HEAD, MAX_HEADERS = 32_768, 65_536, 100  # bytes of the target, bytes in all, headers
MAX_FRAMING = 65_536  # bytes of a chunked body that frame it, beyond as many again as it holds
MAX_TRAILERS = 8_192  # bytes

TELLING = (b"host", b"transfer-encoding", b"expect")  # the headers that `vet` looks at

Fields = Sequence[tuple[bytes, bytes]]


def size(target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> int:
    """How many bytes a head takes on the wire, but for a few."""
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers])


def oversized(target: bytes, headers: Fields, arrived: int) -> Failure | None:
    """What a head gets, of which so many bytes have come, if it is too large."""
    if len(target) > MAX_TARGET:
        return Failure("bad_parameter", f"The target of the request is longer than {MAX_TARGET} bytes.", status=414)
    if len(headers) > MAX_HEADERS:
        return Failure("bad_parameter", f"The request has more than {MAX_HEADERS} headers.", status=431)
    if arrived > MAX_HEAD:
        return Failure("bad_parameter", f"The head of the request is larger than {MAX_HEAD} bytes.", status=431)
    return None


def vet(version: str, telling: Fields) -> None:
    """Raise Failure if a request of this HTTP version, with these of its headers, is not clear."""
    if version not in ("1.1", "1.0"):
        raise unclear("This server speaks HTTP/1.1 and 1.0.")
    hosts, codings, expected = [[value.lower() for name, value in telling if name == each] for each in TELLING]
    if len(hosts) != 1 and (hosts or version == "1.1"):
        raise unclear("More than one Host header." if hosts else "No Host header.")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise unclear("The Host header names no host.")
    if codings and version == "1.0":
        raise unclear("HTTP/1.0 knows no Transfer-Encoding.")
    if codings not in ([], [b"chunked"]):
        raise unclear("Transfer-Encoding can be nothing but chunked.")
    if version == "1.1" and expected not in ([], [b"100-continue"]):  # 1.0 knows none (RFC 9110, 10.1.1)
        raise Failure("bad_parameter", "Nothing can be expected but 100-continue.", status=417)


def origin(method: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """The path and query of a target; the host of a whole URL takes the place of the header (RFC 9112, 3.2.2).

    Raises Failure for a target that has no path.
    """
    if method == "CONNECT":
        raise Failure("method_not_allowed", "This server is no proxy: it does not CONNECT.")
    if b"#" in target:
        raise unclear("The target of the request holds a #; a fragment is not sent.")
    if target.startswith(b"/") or (target == b"*" and method == "OPTIONS"):
        return target
    whole = _URL.fullmatch(target)
    if whole is None or not _HOST.fullmatch(whole[1]):
        raise unclear("The target of the request is neither a path nor a whole URL.")
    headers[:] = [(name, whole[1] if name == b"host" else value) for name, value in headers]
    rest = whole[2] or b""
    return rest if rest.startswith(b"/") else b"/" + rest


def path_of(target: bytes, headers: Fields) -> str:
    """The path of a request that is refused for its head, to be told of it: with no credential of the head in it."""
    whole, _, query = target.partition(b"?")
    path = unquote(_AUTHORITY.sub(b"", whole, count=1).decode("latin-1"))
    return secrets_of(tuple(headers), query).text(path) if path.startswith("/") else "/"


def without_upgrade(method: bytes, target: bytes, version: str, headers: Fields) -> bytes:
    """A head whose request goes on as it began, as a server may decide that is asked to change protocols."""
    lines = [b"%b %b HTTP/%b\r\n" % (method, target, version.encode())]
    for name, value in headers:
        if name == b"connection":
            options = [option.strip() for option in value.split(b",")]
            value = b", ".join([option for option in options if option.lower() not in _UPGRADING])
        if name not in _UPGRADING:
            lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join(lines) + b"\r\n"


def unclear(why: str) -> Failure:
    """What a request gets that could be read in two ways, or in none."""
    return Failure("bad_parameter", why, status=400)


_UPGRADING = frozenset((b"upgrade", b"http2-settings"))
_AUTHORITY = re.compile(rb"^[^/]+//[^/]*")  # of a whole URL; it may hold a password
_URL = re.compile(rb"https?://([^/?]+)([/?].*)?", re.IGNORECASE)
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::\d{0,5})?")
