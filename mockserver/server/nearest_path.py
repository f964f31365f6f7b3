"""The path that was most likely meant by a request to one that no dialect knows."""

from collections.abc import Sequence

from msgspec import Struct

from mockserver.dialects import Dialect
from mockserver.kinds import ASKED
from mockserver.server.routes import Endpoint, compile_template


class NearestPath(Struct, frozen=True):
    """The method and path that were most likely meant, and the dialect of the client: None if that is not certain."""

    shown: str
    spoken: Dialect | None = None


def find_nearest_path(method: str, path: str, *, endpoints: Sequence[Endpoint], query: str = "") -> NearestPath | None:
    """Return what was most likely meant; what is at the same mount, with the same method, first."""
    first, _, behind = path.removeprefix("/").partition("/")
    if first in _PROVIDERS:
        path = f"/{_PROVIDERS[first]}/{behind}"
    segment = "/".join(path.split("/")[:2]) + "/"
    at_mount = [each for each in endpoints if each.shown.startswith(segment)]
    # Its end is missing, `/v1/chat`, or what stands before it, `/chat/completions`.
    continued = [each for each in at_mount if each.path.startswith(f"{path}/") and path.startswith(each.dialect.mounts)]
    rest = path[len(segment) - 1 :]
    meant = continued or [each for each in at_mount or endpoints if each.path.endswith(rest)]
    # The base URL is too long, or that of another provider: `/v1/v1/chat/completions`. Models are asked with POST.
    for sent in dict.fromkeys((method, "POST")):
        request = LostRequest(sent, path, query)
        elsewhere = [] if at_mount and meant else [each for each in endpoints if request.asks_a_model(each)]
        if found := request.find_by_ending(at_mount) or request.find_by_ending(elsewhere):
            return NearestPath(f"{sent} {found.shown}", found.dialect)
    request = LostRequest(method, path, query)
    if not at_mount and (found := request.find_behind(endpoints) or request.find_at_mount_alike(endpoints)):
        return NearestPath(f"{method} {found.shown}", found.dialect)
    usual = [each for each in meant if request.has_usual_query(each)]
    alike = request.find_alike(usual or continued or at_mount or endpoints)
    return NearestPath(alike) if alike else None


# What people call a provider by whose dialect has another name.
_PROVIDERS = {"claude": "anthropic", "google": "gemini", "gpt": "openai", "chatgpt": "openai"}


class LostRequest(Struct, frozen=True):
    """A request to a path that no dialect knows, or not with its method."""

    method: str
    path: str
    query: str = ""

    def find_by_ending(self, endpoints: Sequence[Endpoint]) -> Endpoint | None:
        """Return the endpoint whose own path, without its mount, ends the path; the longest of several."""
        usual = {"", *(segment for endpoint in endpoints for segment in endpoint.shown.split("/"))}
        best: Endpoint | None = None
        most = (-1, False, False)
        for endpoint in endpoints:
            own = endpoint.operations[self.method].path if self.method in endpoint.operations else ""
            matched = compile_template(f"{{base:rest}}{own}").fullmatch(self.path) if own else None
            if matched is None or not usual.issuperset(matched["base"].split("/")):
                continue
            lacks_start = endpoint.path.removesuffix(own).endswith(matched["base"])
            depth = own.removeprefix("/v1").count("/")  # some dialects have it in their mounts
            rank = (depth, lacks_start, self.has_usual_query(endpoint))
            if rank > most:
                most = rank
                best = endpoint
        return best

    def find_behind(self, endpoints: Sequence[Endpoint]) -> Endpoint | None:
        """Return the endpoint whose whole path comes after others, such as those of a gateway: `/llm/v1/messages`."""
        able = [each for each in endpoints if self.path.endswith(each.shown) and self.method in each.operations]
        return max(able, key=lambda endpoint: len(endpoint.shown), default=None)

    def find_at_mount_alike(self, endpoints: Sequence[Endpoint]) -> Endpoint | None:
        """Return the endpoint whose path is the same, but for the spelling of its mount: `/bedrok/model/m/invoke`."""
        from difflib import get_close_matches  # only mistakes need it

        first, _, rest = self.path.removeprefix("/").partition("/")
        able = [each for each in endpoints if self.method in each.operations]
        for mount in get_close_matches(first, {each.shown.split("/")[1] for each in able}, n=3, cutoff=0.75):
            for endpoint in able:
                if compile_template(endpoint.path).fullmatch(f"/{mount}/{rest}"):
                    return endpoint
        return None

    def find_alike(self, endpoints: Sequence[Endpoint]) -> str | None:
        """Return method and path of an endpoint with a similar path: the less similar, the more must speak for it."""
        able = [endpoint for endpoint in endpoints if self.method in endpoint.operations]
        begun = [endpoint for endpoint in able if endpoint.shown.startswith(self.path)]
        return (
            self._find_spelled_alike(endpoints, 1)  # POST /v1/models, which has another method
            or self._find_spelled_alike(able, 0.75)  # GET /v1/modles
            or self._find_spelled_alike(endpoints, 0.75)  # POST /v1/modles
            or self._find_spelled_alike(able, 0.65)  # POST /openai/v1/chat
            or self._find_spelled_alike(begun, 0.55)  # POST /v1/chat/, whose end is missing
        )

    def _find_spelled_alike(self, endpoints: Sequence[Endpoint], likeness: float) -> str | None:
        from difflib import get_close_matches  # only mistakes need it

        shown = {endpoint.shown: endpoint for endpoint in endpoints}
        for close in get_close_matches(self.path, shown, n=1, cutoff=likeness):
            operations = shown[close].operations
            return f"{self.method if self.method in operations else next(iter(operations))} {close}"
        return None

    def has_usual_query(self, endpoint: Endpoint) -> bool:
        """Return whether the query has what clients always send there with this method; False if that is nothing."""
        always = endpoint.operations[self.method].query if self.method in endpoint.operations else {}
        return bool(always) and all(f"{name}=" in self.query for name in always)

    def asks_a_model(self, endpoint: Endpoint) -> bool:
        """Return whether the request, sent to an endpoint, would ask a model something."""
        return self.method in endpoint.operations and endpoint.operations[self.method].name in ASKED
