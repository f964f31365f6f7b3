"""Where that stands which people look for at a guessed path, such as `/metrics` or `/v1`."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from mockserver.core.http import CONTROL
from mockserver.kinds import ASKED
from mockserver.server.namespaces import DEFAULT
from mockserver.server.routes import Endpoint, compile_template, cut_path

# The paths below `/__mockserver__`, and the names by which other programs call such a place.
PLACES: Mapping[str, tuple[str, ...]] = {
    "/": ("inspector", "ui", "gui", "web", "dashboard", "console", "admin", "__admin"),
    "/api/health": ("health", "healthz", "healthcheck", "livez", "live", "liveness", "alive", "ping", "status", "up"),
    "/api/ready": ("ready", "readyz", "readiness"),
    "/metrics": ("metrics", "prometheus"),
    "/api/reload": ("reload",),
    "/api/calls": ("calls", "requests", "journal", "history", "log", "logs"),
    "/api/rules": ("rules", "mappings", "expectations", "stubs", "mocks"),
    "/api/cassette": ("cassette", "cassettes", "recordings"),
    "/api/state": ("state", "scenarios"),
    "/api/reset": ("reset",),
}
_OF_ALL_NAMESPACES = ("/api/health", "/api/ready", "/metrics", "/api/reload")
_NAMES = {name: place for place, names in PLACES.items() for name in names}
_ABOUT = ("docs", "doc", "redoc", "swagger", "openapi.json", "openapi.yaml", "swagger.json", "help", "info", "about")
INSPECTOR_IS_OFF = "inspector is off: start the server with --inspector"
SEE_HOME = "GET / lists all base URLs, and where calls are shown."


def find_control_place(name: str) -> str | None:
    """Return the path below `/__mockserver__` that is meant by a guessed name such as `healthz`, or None."""
    return _NAMES.get(name.lower())


def write_landmark(path: str, namespace: str, *, endpoints: Sequence[Endpoint], has_inspector: bool) -> str | None:
    """Return a sentence about where that stands which is looked for at a path of no dialect; None for other paths."""
    folder, _, name = path.rpartition("/")
    is_outside = folder in ("", "/api") or find_first_below(folder, endpoints) is not None
    place = find_control_place(name) if is_outside else None
    if place == "/":
        return f"The inspector is at {CONTROL}/." if has_inspector else f"The {INSPECTOR_IS_OFF}."
    if place == "/api/health":
        return "Did you mean /health?"  # which needs no key either, and is shorter
    if place is not None:
        chosen = f"?namespace={quote(namespace)}" if namespace != DEFAULT and place not in _OF_ALL_NAMESPACES else ""
        return f"Did you mean {CONTROL}{place}{chosen}?"
    if is_outside and name.lower() in _ABOUT:
        return SEE_HOME
    if path == "/ns":
        return f"The name of a namespace is missing: /ns/NAME. {SEE_HOME}"
    below = find_first_below(path, endpoints)
    return None if below is None else f"Requests go below it, as {below} does. {SEE_HOME}"


def find_first_below(path: str, endpoints: Sequence[Endpoint]) -> str | None:
    """Return what is first asked of models below a base URL, or below its beginning; None for any other path."""
    depth = path.count("/")
    below: str | None = None
    for endpoint in endpoints:
        operation = endpoint.operations.get("POST")
        if operation is None or operation.name not in ASKED or endpoint.path.count("/") <= depth:
            continue
        mount = endpoint.path.removesuffix(operation.path)
        if path.startswith(mount) and _BASE.fullmatch(path[len(mount) :]):
            if compile_template(cut_path(endpoint.path, depth)).fullmatch(path):
                return f"POST {endpoint.shown}"
        elif below is None and mount.startswith(f"{path}/"):
            below = f"POST {endpoint.shown}"
    return below


# What some clients have in their base URL, and others append to it.
_BASE = re.compile(r"(/api|/openai)?(/v[0-9][a-z0-9]*)?|/openai/deployments(/[^/]+)?")
