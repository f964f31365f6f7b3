"""Paths that no dialect knows: calls that rules match there, the rule that a 404 suggests, rules none can reach."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.call import OTHER, WEBSOCKET, Call
from mockserver.core.http import HttpRequest, Reply, read_media_type
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Success
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation, discover, discover_all
from mockserver.dialects._parse import read_json
from mockserver.rules.lint.remarks import Remark
from mockserver.rules.load import Rule
from mockserver.rules.match.fields import METHODS
from mockserver.rules.match.index import find_pinned
from mockserver.server.routes import (
    Endpoint,
    compile_template,
    drop_dialect_segment,
    find_endpoint,
    list_endpoints,
    tidy,
)

_MAX_FIELDS = 1000  # of a form
_MAX_SUGGESTED_PATH = 200  # characters of a path that a suggested rule names
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)', re.IGNORECASE)
_PLAIN = re.compile(r"/[\w/.~-]*")


@cache
def make_stub_operation(dialect: str, host: str = "") -> Operation:
    """Return the operation at a path that no dialect knows; this one, or this host of it, would own it."""
    return Operation(OTHER, "", "", partial(_parse, dialect, host), _render)


def choose_operation(endpoint: Endpoint, method: str) -> Operation | None:
    """Return what a method asks for: at a path of no dialect whatever rules say; None where it is not taken."""
    if not endpoint.operations:
        return make_stub_operation(endpoint.dialect.name, endpoint.dialect.host)
    return endpoint.find_operation(method)


def _parse(dialect: str, host: str, http: HttpRequest, validation: Validation) -> Call:
    raw = _read_content(http)
    model = raw.get("model") if isinstance(raw, dict) else None
    meaning = [http.method, http.path, dict(http.query), raw or digest_body(http)]
    return Call(
        dialect, OTHER, model=model if isinstance(model, str) else "", http=http, meaning=meaning, raw=raw, host=host
    )


def _render(call: Call, outcome: Success) -> Reply:
    raise AssertionError("only raw answers and errors are sent here")


def _read_content(http: HttpRequest) -> Json:
    """Return the value of a JSON body, or the fields of a form; an empty table for any other body."""
    if http.body.lstrip()[:1] in (b"{", b"["):
        try:
            return read_json(http.body)
        except Failure:
            return {}
    if read_media_type(http.header("content-type") or "") == "application/x-www-form-urlencoded":
        try:
            return dict(parse_qsl(http.body.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
        except ValueError:
            return {}
    return {}


def digest_body(http: HttpRequest) -> str:
    """Return a hash of a body, the same for every boundary of its parts, which clients draw at random."""
    found = _BOUNDARY.search(http.header("content-type") or "")
    body = http.body.replace(found[1].encode("latin-1"), b"") if found else http.body
    return blake2b(body, digest_size=16).hexdigest()


def is_stubbed(http: HttpRequest, dialect: Dialect, rules: Iterable[Rule]) -> bool:
    """Return whether a rule may answer here, as far as its path and method say."""
    call = Call(dialect.name, OTHER, model="", http=http, meaning=(), host=dialect.host)
    results = (rule.when.explain(call) for rule in rules if rule.stubs)
    return any(all(one.ok for one in found if one.field in ("path", "method")) for found in results)


def suggest_rule(http: HttpRequest, dialect: Dialect) -> str | None:
    """Suggest a rule, ready to paste, for a path that the provider has and its dialect lacks; None for any other."""
    fronts = sorted({*dialect.mounts, *map(drop_dialect_segment, dialect.mounts)}, key=len, reverse=True)
    front = next((front for front in fronts if http.path.startswith(f"{front}/")), http.path)
    rest = http.path[len(front) :]
    then = next((then for path, then in dialect.missing.items() if _is_below(path, rest)), None)
    if then is None or "*" in http.path or len(http.path) > _MAX_SUGGESTED_PATH:
        return None
    path = http.path
    spoken = ""
    if front in dialect.mounts:
        path = drop_dialect_segment(path)  # the bare one fits at the mount too, but at those of other dialects as well
        spoken = f"host: {dialect.host}, " if dialect.host else f"dialect: {dialect.name}, "
    path = path if _PLAIN.fullmatch(path) else json.dumps(path, ensure_ascii=False)
    method = f", method: {http.method}" if http.method in METHODS else ""
    return f"- {{when: {{{spoken}path: {path}{method}}}, then: {then}}}"


def _is_below(path: str, rest: str) -> bool:
    """Return whether a path is this one, in which `*` is any segment, or below it."""
    wanted = path.split("/")
    segments = rest.split("/")
    return len(wanted) <= len(segments) and all(
        mine in ("*", theirs) for mine, theirs in zip(wanted, segments, strict=False)
    )


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
        _explain_unreachable_path(path, rule, methods, _list_endpoints(dialect))
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
    """Return the paths, often with wildcards, of which a request must have one; none if that is not obvious."""
    value = when.get("path") if isinstance(when, Mapping) else None
    if isinstance(value, Mapping) and len(value) == 1:
        value = value.get("equals") or value.get("glob") or value.get("in")
    values: Sequence[Json] = value if isinstance(value, list) else [value]
    return values if all(isinstance(each, str) for each in values) else ()


def _explain_unreachable_path(
    path: str, rule: Rule, methods: frozenset[Json] | None, known: Sequence[Endpoint]
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
        speaks = any(endpoint.has_socket for endpoint in found)
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
