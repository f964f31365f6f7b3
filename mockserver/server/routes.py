"""Which dialect and which operations are at which path."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter

from msgspec import Struct

from mockserver.cassettes.addresses import DialectRoutes
from mockserver.dialects import Dialect, Operation, discover, discover_all, list_hosts
from mockserver.dialects._mcp import DIALECT as MCP
from mockserver.dialects._mcp.login import list_well_known_paths, make_well_known_operation


class Endpoint(Struct, frozen=True):
    path: str
    dialect: Dialect
    operations: Mapping[str, Operation]

    @property
    def shown(self) -> str:
        """The path as it is most often called."""
        return next(iter(self.operations.values())).usual(self.path) if self.operations else self.path

    @property
    def has_socket(self) -> bool:
        """Whether a client may talk to one of its operations over a WebSocket."""
        return any(each.over_socket for each in self.operations.values())

    def find_operation(self, method: str) -> Operation | None:
        """Return which operation a method asks for, if there is one: to HEAD it is what it is to GET."""
        return self.operations.get("GET" if method == "HEAD" else method)


class Place(Struct, frozen=True):
    """Where a path leads: the endpoint that serves it, and what the path says for its parameters."""

    endpoint: Endpoint
    params: Mapping[str, str]


class EndpointIndex:
    """Finds the endpoint that serves a path without trying one after another: whole, or by its first segment."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._fixed = dict[str, Place]()
        self._below = defaultdict[str, list[Endpoint]](list)
        for endpoint in endpoints:
            if "{" in endpoint.path:
                self._below[endpoint.path.split("/", 2)[1]].append(endpoint)
            else:
                self._fixed.setdefault(endpoint.path, Place(endpoint, {}))

    def find(self, path: str) -> Place | None:
        return self._fixed.get(path) or find_endpoint(path, self._below.get(path[1:].partition("/")[0], ()))


def _list_mcp_endpoints() -> Iterator[Endpoint]:
    found: dict[str, dict[str, Operation]] = {}
    for operation in MCP.operations:
        found.setdefault(f"{MCP.mounts[0]}{operation.path}", {})[operation.method] = operation
    for path, method in list_well_known_paths():
        found[path] = {"GET": make_well_known_operation(MCP.name, method, MCP.operations[0].render)}
    yield from [Endpoint(path, MCP, operations) for path, operations in found.items()]


MCP_ENDPOINTS = tuple(_list_mcp_endpoints())


def list_endpoints(dialects: Mapping[str, Dialect], default: str) -> tuple[Endpoint, ...]:
    """List every path of every dialect, the default dialect's bare ones first, and calls before look-ups."""
    mounts = [(drop_dialect_segment(mount), dialects[default]) for mount in dialects[default].mounts]
    mounts += [(mount, dialect) for dialect in dialects.values() for mount in dialect.mounts]
    mounts += [("", dialect) for dialect in dialects.values() if dialect.bare]
    spoken = {dialect.label: dialect for dialect in dialects.values()}
    operations = defaultdict[tuple[str, str], dict[str, Operation]](dict)  # by path and dialect
    for mount, dialect in mounts:
        for operation in dialect.operations:
            if mount or dialect.label == default or operation.path.startswith(dialect.bare):
                operations[mount + operation.path or "/", dialect.label][operation.method] = operation
    found = [Endpoint(path, spoken[label], served) for (path, label), served in operations.items()]
    return tuple(sorted(found, key=lambda endpoint: "POST" not in endpoint.operations))


def make_dialect_routes() -> DialectRoutes:
    """Return the paths of all dialects, for those who look up where the URL of a provider leads here."""
    known = discover_all()
    served = list_endpoints(known, "openai")
    mounts = {name: dialect.mounts for name, dialect in known.items()}
    return DialectRoutes(mounts, lambda method, path: find_operation_name(method, path, served))


def find_dialect(name: str) -> Dialect | None:
    """Return the dialect of a recorded request, which MCP's can be, too."""
    return MCP if name == MCP.name else discover().get(name)


def list_dialect_endpoints(name: str) -> tuple[Endpoint, ...]:
    """Return every path of a dialect, which may be MCP's; none of an unknown one."""
    if name == MCP.name:
        return MCP_ENDPOINTS
    spoken = list_hosts(name)
    return list_endpoints(spoken, name) if spoken else ()


def list_own_endpoints(dialect: Dialect) -> tuple[Endpoint, ...]:
    """Return every path of a dialect where it is the default one. No other dialect has one of these."""
    return list_endpoints({dialect.label: dialect}, dialect.label)


def locate(path: str, dialects: Mapping[str, Dialect], default: str) -> Place | None:
    """Return the endpoint that serves a path, and its path parameters.

    Other dialects are not imported for the default one's.
    """
    own = find_endpoint(path, list_own_endpoints(dialects[default]))
    return own or find_endpoint(path, list_endpoints(dialects, default)) or find_endpoint(path, MCP_ENDPOINTS)


def drop_dialect_segment(mount: str) -> str:
    """Return a mount without the dialect's own segment: `/openai/v1` becomes `/v1`."""
    _, _, rest = mount.lstrip("/").partition("/")
    return f"/{rest}" if rest else ""


def complete_path(path: str, dialect: Dialect, known: Sequence[Endpoint]) -> str | None:
    """Return an unknown path of a dialect with what clients may leave out behind the mount, if that is a known path."""
    for mount in (*dialect.mounts, *map(drop_dialect_segment, dialect.mounts)) if dialect.omissible else ():
        whole = mount + dialect.omissible + path.removeprefix(mount)
        if (
            path.startswith(f"{mount}/")
            and (found := find_endpoint(whole, known))
            and found.endpoint.dialect is dialect
        ):
            return whole
    return None


def find_owner(path: str, dialects: Mapping[str, Dialect], default: str) -> Dialect:
    """Return the dialect that an unknown path belongs to: the one mounted nearest in front of it, else the default.

    Of several at one mount, it is the one that has operations below the next segment too.
    """
    path = "/" + path.lstrip("/")
    if f"{path}/".startswith(f"{MCP.mounts[0]}/"):
        return MCP
    first, second = ("/".join(path.split("/")[:deep]) for deep in (2, 3))
    named = [
        (
            len(mount) if f"{path}/".startswith(f"{mount}/") else 0,
            any("/".join((mount + each.path).split("/")[:3]) == second for each in dialect.operations),
            dialect,
        )
        for dialect in dialects.values()
        for mount in dialect.mounts
        if mount == first or mount.startswith(first + "/")
    ]
    return max(named, key=itemgetter(0, 1), default=(0, False, dialects[default]))[-1]


def find_operation_name(method: str, path: str, known: Sequence[Endpoint]) -> str | None:
    found = find_endpoint(path, known)
    reached = None if found is None else found.endpoint.find_operation(method)
    return None if reached is None else reached.name


def tidy(path: str) -> str:
    return "/" + "/".join(segment for segment in path.split("/") if segment)


def find_endpoint(path: str, known: Sequence[Endpoint]) -> Place | None:
    """Return the endpoint that serves a path, and its path parameters."""
    for endpoint in known:
        if matched := compile_template(endpoint.path).fullmatch(path):
            return Place(endpoint, matched.groupdict())
    return None


@cache
def compile_template(template: str) -> re.Pattern[str]:
    """Compile a path: `{name}` is a segment, `{name:path}` any rest; PARAMETERS has the other kinds."""
    return re.compile(_PARAMETER.sub(lambda found: f"(?P<{found[1]}>{PARAMETERS[found[2]]})", re.escape(template)))


# The kinds of parameters in paths: a segment, any rest, an id without a verb, a version, a collection of models.
PARAMETERS: Mapping[str | None, str] = {
    None: "[^/]+",
    "path": ".*",
    "id": "[^/:]+",
    "version": "v[0-9][a-z0-9]*",
    "models": "(?:(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models|models|tunedModels|dynamic)",
}
_PARAMETER = re.compile(r"\\{(\w+)(?::(\w+))?\\}")
