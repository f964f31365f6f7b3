"""Where a request leads that is meant for a provider's own host: clients need no base URL of ours."""

from functools import lru_cache

from mockserver.cassettes.importing.known import Known, dialect_of, spot
from mockserver.core.addresses import is_loopback
from mockserver.dialects import discover
from mockserver.server.routes import operation_at, places


class Hosts:
    """The hosts of the providers, and where their paths stand here."""

    def __init__(self) -> None:
        served = places(discover(), "openai")
        mounts = {name: dialect.mounts for name, dialect in discover().items()}
        self._known = Known(mounts, lambda method, path: operation_at(method, path, served), lambda _, body: body)
        self.path = lru_cache(maxsize=1024)(self._path)

    def _path(self, method: str, host: str, path: str) -> str:
        """The path here; of a host that is nobody's it stays as it is."""
        url = f"https://{host}{path}"
        dialect = None if is_loopback(host) or not host else dialect_of(url, self._known)
        found = None if dialect is None else spot(method, url, dialect, self._known)
        return path if found is None else found.path
