"""The rules that no request can reach, as no dialect knows their paths, or not with their methods."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

from mockserver.core.json import Json
from mockserver.dialects import discover
from mockserver.rules.load import Remark, Rule
from mockserver.rules.match.conditions import pinned
from mockserver.server.routes import Endpoint, find, operation_for, pattern, places, tidy


def unreachable(rules: Sequence[Rule], dialect: str) -> Iterator[Remark]:
    """The rules that no path and method can reach, as far as their own words show."""
    for rule in rules:
        if why := _never(rule, dialect):
            yield Remark(rule, f"never answers: {why}")


@cache
def _known(dialect: str) -> Sequence[Endpoint]:
    """Every path, with the bare ones of each dialect, as rules see paths with and without their mounts."""
    return [place for name in (dialect, *discover()) for place in places(discover(), name)]


def _never(rule: Rule, dialect: str) -> str | None:
    methods = pinned(rule.when, "method")
    if "path" not in rule.when.uses:
        operations = pinned(rule.when, "operation")
        if methods is None or operations is None:
            return None
        served = [place.operations for place in _known(dialect)]
        taken = [operation_for(str(method), each) for method in methods for each in served]
        if any(each and each.name in operations for each in taken):
            return None
        return f"no {', '.join(sorted(map(str, operations)))} is called by {_listed(methods)}; add a path"
    reasons = [_unreachable(path, rule, methods, _known(dialect)) for path in _stated(rule.spec.get("when"))]
    return reasons[0] if reasons and all(reasons) else None


def _stated(when: Json) -> Sequence[str]:
    """The paths, often with wildcards, of which a request must have one; none if that is not obvious."""
    value = when.get("path") if isinstance(when, Mapping) else None
    if isinstance(value, Mapping) and len(value) == 1:
        value = value.get("equals") or value.get("glob") or value.get("in")
    values: Sequence[Json] = value if isinstance(value, list) else [value]
    return values if all(isinstance(each, str) for each in values) else ()


def _unreachable(path: str, rule: Rule, methods: frozenset[Json] | None, known: Sequence[Endpoint]) -> str | None:
    start, *rest = path.split("*")
    if start and not start.startswith("/"):
        return f'a path begins with a slash: write "{urlsplit(path).path if "://" in path else f"/{path}"}"'
    if start.startswith("/ns/"):
        return "rules see a path without its namespace: leave /ns/... out, and add the condition namespace"
    if tidy(path) != path and not rest:
        return f'rules see a path without doubled and trailing slashes: write "{tidy(path)}"'
    found = [] if rest else [place.operations for place in known if find(path, (place,))]
    if found and methods and not any(operation_for(str(method), taken) for method in methods for taken in found):
        taken = {name for taken in found for name in taken}
        return f"{path} is called by {_listed(taken)}, not by {_listed(methods)}"
    alike = found or (rest and any(_may_begin(place.path, start) for place in known))
    if alike or rule.stubs:
        return None
    return f'no dialect knows the path "{path}"; there, rules answer with raw, json or error'


def _may_begin(template: str, start: str) -> bool:
    """Whether a path that begins so may fit a template."""
    *whole, last = start.split("/")
    segments = template.split("/")
    for wanted, given in zip(segments, whole, strict=False):
        if _SPANNING.search(wanted):
            return True
        if not pattern(wanted).fullmatch(given):
            return False
    fixed, *parameter = segments[len(whole)].split("{", 1) if len(whole) < len(segments) else [""]
    return len(whole) < len(segments) and (fixed.startswith(last) or bool(parameter and last.startswith(fixed)))


_SPANNING = re.compile(r"\{\w+:(?:path|models)\}")  # parameters of several segments


def _listed(names: Iterable[Json]) -> str:
    return ", ".join(sorted(map(str, names)))
