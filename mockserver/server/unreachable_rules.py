"""Rules that no request can reach, by their own paths and methods."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

from mockserver.core.call import WEBSOCKET
from mockserver.core.json import Json
from mockserver.dialects import discover, discover_all
from mockserver.rules.lint.remarks import Remark
from mockserver.rules.load import Rule
from mockserver.rules.match.index import find_pinned
from mockserver.server.routes import Endpoint, compile_template, find_endpoint, list_endpoints, tidy


def find_unreachable(rules: Sequence[Rule], dialect: str) -> Iterator[Remark]:
    """Yield the rules that no path and method can reach, as far as their own words show."""
    for rule in rules:
        if why := _explain_unreachable(rule, dialect):
            yield Remark(rule, f"never answers: {why}")


@cache
def _list_endpoints(dialect: str) -> Sequence[Endpoint]:
    """Return every path, with the bare ones of each dialect, as rules see paths with and without their mounts."""
    return [endpoint for name in (dialect, *discover()) for endpoint in list_endpoints(discover_all(), name)]


def _explain_unreachable(rule: Rule, dialect: str) -> str | None:
    methods = find_pinned(rule.when, "method")
    operations = find_pinned(rule.when, "operation")
    if operations is not None and WEBSOCKET in operations:
        if methods is not None and "GET" not in methods:
            return "a WebSocket is opened by GET"
        return _explain_no_socket(rule)
    if "path" not in rule.when.uses:
        if methods is None or operations is None:
            return None
        taken = [endpoint.find_operation(str(method)) for method in methods for endpoint in _list_endpoints(dialect)]
        if any(each and each.name in operations for each in taken):
            return None
        return f"no {', '.join(sorted(map(str, operations)))} accepts {_join_names(methods)}; add a path"
    reasons = [
        _explain_unreachable_path(path, rule, methods=methods, known=_list_endpoints(dialect))
        for path in _find_stated_paths(rule.spec.get("when"))
    ]
    return reasons[0] if reasons and all(reasons) else None


def _explain_no_socket(rule: Rule) -> str | None:
    named = find_pinned(rule.when, "dialect")
    known = discover_all()
    if named is None or any(each.over_socket for name in named for each in known[str(name)].operations):
        return None
    return f"{_join_names(named)} has no WebSockets"


def _find_stated_paths(when: Json) -> Sequence[str]:
    """Return the paths, often with wildcards, that a `when` allows; none if it does not list them plainly."""
    value = when.get("path") if isinstance(when, Mapping) else None
    if isinstance(value, Mapping) and len(value) == 1:
        value = value.get("equals") or value.get("glob") or value.get("in")
    values: Sequence[Json] = value if isinstance(value, list) else [value]
    return values if all(isinstance(each, str) for each in values) else ()


def _explain_unreachable_path(
    path: str, rule: Rule, *, methods: frozenset[Json] | None, known: Sequence[Endpoint]
) -> str | None:
    start, *rest = path.split("*")
    if start and not start.startswith("/"):
        return f'a path begins with a slash: write "{urlsplit(path).path if "://" in path else f"/{path}"}"'
    if start.startswith("/ns/"):
        return "rules see a path without its namespace: leave /ns/... out, and add the condition namespace"
    if tidy(path) != path and not rest:
        return f'rules see a path without doubled and trailing slashes: write "{tidy(path)}"'
    found = [] if rest else [endpoint for endpoint in known if find_endpoint(path, (endpoint,))]
    if found and methods and not any(each.find_operation(str(method)) for method in methods for each in found):
        taken = {method for endpoint in found for method in endpoint.operations}
        speaks = any(endpoint.socket for endpoint in found)
        hint = f"; a WebSocket there is the operation {WEBSOCKET}" if speaks and "GET" in methods else ""
        return f"{path} accepts {_join_names(taken)}, not {_join_names(methods)}{hint}"
    alike = found or (rest and any(_may_begin(endpoint.path, start) for endpoint in known))
    if alike or rule.stubs:
        return None
    return f'no dialect knows the path "{path}"; there, rules answer with raw, json or error'


def _may_begin(template: str, start: str) -> bool:
    """Return whether a path that begins so may fit a template."""
    *whole, last = start.split("/")
    segments = template.split("/")
    for wanted, given in zip(segments, whole, strict=False):
        if _SPANNING.search(wanted):
            return True
        if not compile_template(wanted).fullmatch(given):
            return False
    fixed, *parameter = segments[len(whole)].split("{", 1) if len(whole) < len(segments) else [""]
    return len(whole) < len(segments) and (fixed.startswith(last) or bool(parameter and last.startswith(fixed)))


_SPANNING = re.compile(r"\{\w+:(?:path|models)\}")  # parameters of several segments


def _join_names(names: Iterable[Json]) -> str:
    return ", ".join(sorted(map(str, names)))
