"""Whose a URL is: the hosts of providers, and where in this server their paths stand."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mockserver.core.addresses import is_loopback
from mockserver.core.http import Headers


@dataclass(frozen=True, slots=True)
class Known:
    """What importing is told of the dialects: where each is mounted; which operation a method and path reach; how

    codings are taken off a body (it raises ValueError where they cannot be).
    """

    mounts: Mapping[str, tuple[str, ...]]
    operation: Callable[[str, str], str | None]
    plain: Callable[[Headers, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a URL leads in this server."""

    dialect: str
    path: str
    query: str
    operation: str


def dialect_of(url: str, known: Known) -> str | None:
    """Whose the host of a URL is; of a server of ours the path tells it. None: nobody's that is known."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if is_loopback(host) or not host:
        path = _bare(parts.path)
        mounted = (name for name, mounts in known.mounts.items() for mount in mounts if path.startswith(f"{mount}/"))
        return next(mounted, "openai" if path.startswith("/v1/") else None)
    for pattern, path, dialect in _HOSTS:
        if pattern.fullmatch(host) and parts.path.startswith(path):
            return dialect
    return None


def spot(method: str, url: str, dialect: str, known: Known) -> Spot | None:
    """Where a URL leads in this server as one of this dialect; None: to nothing that the dialect has."""
    parts = urlsplit(url)
    segments = unquote(_bare(parts.path)).split("/")[1:]
    tails = ["/".join(segments[at:]) for at in range(len(segments))]
    for path in (f"{mount}/{tail}" for tail in tails for mount in known.mounts[dialect]):
        if operation := known.operation(method, path):
            return Spot(dialect, path, parts.query, operation)
    return None


def _bare(path: str) -> str:
    """The path without the namespace of a server of ours."""
    return _NAMESPACE.sub("/", path, count=1)


_NAMESPACE = re.compile(r"^/ns/[^/]+/")
# Hosts, the beginning of the path where a host serves several, and the dialect spoken there.
_HOSTS = tuple(
    (re.compile(host), path, dialect)
    for host, path, dialect in (
        (r"(?:[a-z]{2}\.)?api\.openai\.com", "/", "openai"),
        (r"[^.]+\.openai\.azure\.(?:com|us|cn)", "/", "azure_openai"),
        (r"[^.]+\.(?:cognitiveservices|services\.ai)\.azure\.com", "/openai/", "azure_openai"),
        (r"[^.]+\.services\.ai\.azure\.com", "/", "azure"),
        (r"models\.inference\.ai\.azure\.com", "/", "azure"),
        (r"(?:[^.]+\.)+(?:inference|models|inference\.ml)\.(?:ai\.)?azure\.com", "/", "azure"),
        (r"models\.github\.ai", "/", "azure"),
        (r"api\.fireworks\.ai", "/", "fireworks"),
        (r"api\.(?:tzafon|lightcone)\.ai", "/", "tzafon"),
        (r"api\.skytells\.ai", "/", "skytells"),
        (r"(?:api\.)?crazyrouter\.com", "/", "crazyrouter"),
    )
)
