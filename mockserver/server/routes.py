"""Which dialect and which operations are at which path."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property

from msgspec import Struct

from mockserver.cassettes.addresses import DialectRoutes
from mockserver.config.hosts import HostTable
from mockserver.core.lazy import Memo
from mockserver.dialects import Dialect, Operation, discover, discover_all, list_hosts
from mockserver.dialects._mcp import DIALECT as MCP


class Endpoint(Struct, frozen=True):
    """A path, with its parameters in braces, and what a dialect does there, by method."""

    path: str
    dialect: Dialect
    operations: Mapping[str, Operation]

    @property
    def shown(self) -> str:
        """The path as it is most often called."""
        return next(iter(self.operations.values())).fill_path(self.path) if self.operations else self.path

    @property
    def is_unknown(self) -> bool:
        """Whether no dialect knows the path, so that it has no operations."""
        return not self.operations

    @property
    def socket(self) -> str:
        """What is spoken there over a WebSocket, as one of its operations states; empty if nothing is."""
        return next((each.over_socket for each in self.operations.values() if each.over_socket), "")

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
        self._anywhere: list[Endpoint] = []  # whose first segment is a parameter: the bare paths of gemini
        for endpoint in endpoints:
            first = endpoint.path.split("/", 2)[1]
            if "{" in first:
                self._anywhere.append(endpoint)
            elif "{" in endpoint.path:
                self._below[first].append(endpoint)
            else:
                self._fixed.setdefault(endpoint.path, Place(endpoint, {}))

    def find(self, path: str) -> Place | None:
        """Return where a path leads, or None."""
        below = self._below.get(path[1:].partition("/")[0], ())
        return self._fixed.get(path) or find_endpoint(path, below) or find_endpoint(path, self._anywhere)


class Mount(Struct, frozen=True):
    """A path below which a dialect is spoken."""

    path: str
    dialect: Dialect

    def holds(self, path: str) -> bool:
        """Return whether a path is this one or below it."""
        return f"{path}/".startswith(f"{self.path}/")

    def serves_below(self, start: str) -> bool:
        """Return whether the first two segments of an operation's path are these."""
        return any(cut_path(self.path + operation.path, 2) == start for operation in self.dialect.operations)


class Routes:
    """Where paths lead if one dialect is the default, whose paths need no mount.

    Its own come first: other dialects are imported for what it does not have.
    """

    def __init__(self, dialects: Mapping[str, Dialect], default: str) -> None:
        self.default = dialects[default]
        self._dialects = dialects
        self._own = EndpointIndex(list_own_endpoints(self.default))

    @cached_property
    def _every_dialect(self) -> Mapping[str, Dialect]:
        """All dialects and MCP."""
        return {**self._dialects, MCP.label: MCP}

    @cached_property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Every endpoint of the providers; a misspelt path may mean one of them."""
        return list_endpoints(self._dialects, self.default.label)

    @cached_property
    def _all(self) -> EndpointIndex:
        return EndpointIndex((*self.endpoints, *list_endpoints({MCP.label: MCP})))

    def find(self, path: str) -> Place | None:
        """Return where a path leads, if a dialect knows it."""
        return self._own.find(path) or self._all.find(path)

    def find_operation_name(self, method: str, path: str) -> str | None:
        """Return the name of the operation at a path, or None."""
        place = self.find(path)
        operation = None if place is None else place.endpoint.find_operation(method)
        return None if operation is None else operation.name

    def find_owner(self, path: str) -> Dialect:
        """Return the dialect that an unknown path belongs to: the one mounted nearest in front of it, else the default.

        Of several at one mount, it is the one that has operations below the next segment too.
        """
        path = "/" + path.lstrip("/")
        first = cut_path(path, 1)
        mounts = [Mount(mount, dialect) for dialect in self._every_dialect.values() for mount in dialect.mounts]
        near = [mount for mount in mounts if cut_path(mount.path, 1) == first]

        def rank(mount: Mount) -> tuple[int, bool]:
            return len(mount.path) if mount.holds(path) else 0, mount.serves_below(cut_path(path, 2))

        return max(near, key=rank).dialect if near else self.default

    def make_unknown_endpoint(self, path: str) -> Endpoint:
        """Return the endpoint of a path that no dialect knows: it belongs to one, and has no operations."""
        return Endpoint(path, self.find_owner(path), {})

    def complete(self, path: str) -> str | None:
        """Return a path with what clients may leave out behind the mount, if it is known then."""
        owner = self.find_owner(path)
        if not owner.omissible:
            return None
        for mount in (*owner.mounts, *map(drop_dialect_segment, owner.mounts)):
            whole = mount + owner.omissible + path.removeprefix(mount)
            place = self.find(whole) if path.startswith(f"{mount}/") else None
            if place is not None and place.endpoint.dialect is owner:
                return whole
        return None


def find_routes(default: str, hosts: HostTable | None = None) -> Routes:
    """Return where paths lead with this default dialect, and these hosts besides the built-in ones."""
    wanted = (default, repr(hosts or {}))
    return _ROUTES.get(wanted) or _ROUTES.keep(wanted, Routes(discover_all(hosts), default), len(wanted[1]))


_ROUTES = Memo[tuple[str, str], Routes](most=1 << 20)


def list_endpoints(dialects: Mapping[str, Dialect], default: str | None = None) -> tuple[Endpoint, ...]:
    """List every path of these dialects, calls before look-ups. The `default` one comes first, without its mounts."""
    own = () if default is None else dialects[default].mounts
    mounts = [Mount(drop_dialect_segment(path), dialects[default or ""]) for path in own]
    mounts += [Mount(path, dialect) for dialect in dialects.values() for path in dialect.mounts]
    mounts += [Mount("", dialect) for dialect in dialects.values() if dialect.bare]
    served = [
        (mount.path + operation.path or "/", mount.dialect, operation)
        for mount in mounts
        for operation in mount.dialect.operations
        if mount.path or mount.dialect.label == default or operation.path.startswith(mount.dialect.bare)
    ]
    served += [(each.path, dialect, each) for dialect in dialects.values() for each in dialect.unmounted]
    operations = defaultdict[tuple[str, str], dict[str, Operation]](dict)  # by path and dialect
    for path, dialect, operation in served:
        operations[path, dialect.label][operation.method] = operation
    spoken = {dialect.label: dialect for dialect in dialects.values()}
    found = [Endpoint(path, spoken[label], there) for (path, label), there in operations.items()]
    return tuple(sorted(found, key=lambda endpoint: "POST" not in endpoint.operations))


def make_dialect_routes() -> DialectRoutes:
    """Return the paths of all dialects, for those who look up where the URL of a provider leads here."""
    mounts = {name: dialect.mounts for name, dialect in discover_all().items()}
    return DialectRoutes(mounts, find_routes("openai").find_operation_name)


def find_dialect(name: str) -> Dialect | None:
    """Return the dialect of a recorded request, which MCP's can be, too."""
    return MCP if name == MCP.name else discover().get(name)


def list_dialect_endpoints(name: str, hosts: HostTable | None = None) -> tuple[Endpoint, ...]:
    """Return every path of a dialect, which may be MCP's; none of an unknown one. `hosts` are those of the settings."""
    if name == MCP.name:
        return list_endpoints({name: MCP})
    spoken = list_hosts(name, hosts)
    return list_endpoints(spoken, name) if spoken else ()


def list_own_endpoints(dialect: Dialect) -> tuple[Endpoint, ...]:
    """Return every path of a dialect where it is the default one. No other dialect has one of these."""
    return list_endpoints({dialect.label: dialect}, dialect.label)


def drop_dialect_segment(mount: str) -> str:
    """Return a mount without the dialect's own segment: `/openai/v1` becomes `/v1`."""
    _, _, rest = mount.lstrip("/").partition("/")
    return f"/{rest}" if rest else ""


def cut_path(path: str, segments: int) -> str:
    """Return the first `segments` segments of a path."""
    return "/".join(path.split("/", segments + 1)[: segments + 1])


def tidy(path: str) -> str:
    """Return a path without doubled and trailing slashes."""
    return "/" + "/".join(segment for segment in path.split("/") if segment)


def find_endpoint(path: str, known: Sequence[Endpoint]) -> Place | None:
    """Return the endpoint that serves a path, and its path parameters."""
    for endpoint in known:
        if matched := compile_template(endpoint.path).fullmatch(path):
            return Place(endpoint, matched.groupdict())
    return None


@cache
def compile_template(template: str) -> re.Pattern[str]:
    """Compile a path: `{name}` is a segment, `{name:path}` several; PARAMETERS has the other kinds."""
    pattern = _PARAMETER.sub(lambda found: f"(?P<{found[1]}>{PARAMETERS[found[2]]})", re.escape(template))
    return re.compile(pattern, re.DOTALL)


# The kinds of parameters in paths: a segment, several, any rest, an id without a verb, a version, a group of models.
PARAMETERS: Mapping[str | None, str] = {
    None: "[^/]+",
    "path": ".*[^/]",
    "rest": ".*",
    "id": "[^/:]+",
    "version": "v1(?:alpha|beta1?)?",
    "models": "(?:(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models|models|tunedModels|dynamic)",
}
_PARAMETER = re.compile(r"\\{(\w+)(?::(\w+))?\\}")
