"""Hosts, addresses and origins: read from texts, and compared."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

_ADDRESS = IPv4Address | IPv6Address
_HOST = re.compile(r"(\[[0-9a-f:.]{2,64}\]|[a-z0-9._-]{1,253})(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]{0,30})://(?:\[[0-9a-f:.]{2,64}\]|[a-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


def read_host(authority: str) -> str | None:
    """Return the host of `host`, `host:port` or `[address]:port`, in lower case without brackets; None for others."""
    found = _HOST.fullmatch(authority.lower())
    return found[1].strip("[]").removesuffix(".") or None if found else None


def is_address(host: str) -> bool:
    return _parse_address(host) is not None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host: localhost, 127.0.0.0/8, ::1."""
    address = _parse_address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_everywhere(host: str) -> bool:
    """Return whether listening on this host means listening on every address of the machine."""
    address = _parse_address(host)
    return address is not None and address.is_unspecified


def matches_host(host: str, pattern: str) -> bool:
    """Return whether a host is the one of a pattern, `*.example.com` or `example.com`."""
    pattern = pattern.lower()
    return pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def read_origin(text: str) -> str | None:
    """Return an origin in lower case, without a default port; None if the text is not an origin, or says more."""
    text = text.lower()
    found = _ORIGIN.fullmatch(text)
    return None if found is None else text.removesuffix(_USUAL_PORTS.get(found[1], ""))


def _parse_address(host: str) -> _ADDRESS | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
