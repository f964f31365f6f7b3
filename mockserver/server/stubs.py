"""Paths that no dialect knows: the call that rules match there, the answer without a rule, and unreachable rules."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from html import escape
from urllib.parse import parse_qsl, urlsplit

from mockserver.config.settings import Settings
from mockserver.core.call import OTHER, Call
from mockserver.core.http import CONTROL, HttpRequest, Reply, essence
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Success
from mockserver.dialects import Dialect, Operation, discover
from mockserver.dialects._parse import read_json
from mockserver.rules.load import Remark, Rule
from mockserver.rules.match.conditions import pinned
from mockserver.rules.match.fields import METHODS
from mockserver.server.access import SANDBOX, SECURITY
from mockserver.server.routes import Endpoint, bare, find, operation_for, places, tidy

_MOST_FIELDS = 1000  # of a form
_LONGEST = 200  # characters of a path that a suggested rule names
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)', re.IGNORECASE)
_PLAIN = re.compile(r"/[\w/.~-]*")


@cache
def other(dialect: str) -> Operation:
    """The operation at a path that no dialect knows; this one would own it."""
    return Operation(OTHER, "", "", partial(_parse, dialect), _render)


def _parse(dialect: str, http: HttpRequest, strict: bool) -> Call:
    raw = _content(http)
    model = raw.get("model") if isinstance(raw, dict) else None
    meaning = [http.method, http.path, dict(http.query), raw or _digest(http)]
    return Call(dialect, OTHER, model if isinstance(model, str) else "", http, meaning, raw)


def _render(call: Call, outcome: Success) -> Reply:
    raise AssertionError("only raw answers and errors are sent here")


def _content(http: HttpRequest) -> Json:
    """The value of a JSON body, or the fields of a form; an empty table for any other body, whatever its type."""
    if http.body.lstrip()[:1] in (b"{", b"["):
        try:
            return read_json(http.body)
        except Failure:
            return {}
    if essence(http.header("content-type") or "") == "application/x-www-form-urlencoded":
        try:
            return dict(parse_qsl(http.body.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            return {}
    return {}


def _digest(http: HttpRequest) -> str:
    """A hash of a body, the same for every boundary of its parts, which clients draw at random."""
    found = _BOUNDARY.search(http.header("content-type") or "")
    body = http.body.replace(found[1].encode("latin-1"), b"") if found else http.body
    return blake2b(body, digest_size=16).hexdigest()


def missing(http: HttpRequest, dialect: Dialect) -> str | None:
    """A rule, ready to paste, for an endpoint that the provider has and its dialect does not; None if it is none."""
    fronts = sorted({*dialect.mounts, *map(bare, dialect.mounts)}, key=len, reverse=True)
    front = next((front for front in fronts if http.path.startswith(f"{front}/")), http.path)
    rest = http.path[len(front) :]
    then = next((then for path, then in dialect.missing.items() if _is_below(path, rest)), None)
    if then is None or len(http.path) > _LONGEST:
        return None
    path = bare(http.path) if front in dialect.mounts else http.path  # the bare one fits at the mount too
    path = path if _PLAIN.fullmatch(path) else json.dumps(path, ensure_ascii=False)
    method = f", method: {http.method}" if http.method in METHODS else ""
    return f"- {{when: {{path: {path}{method}}}, then: {then}}}"


def _is_below(path: str, rest: str) -> bool:
    """Whether a path is this one, in which `*` is any segment, or below it."""
    wanted, segments = path.split("/"), rest.split("/")
    return len(wanted) <= len(segments) and all(
        one in ("*", other) for one, other in zip(wanted, segments, strict=False)
    )


def home(http: HttpRequest, settings: Settings) -> Reply:
    """What this server is, and where to point a client: a page for browsers, JSON for programs. Names no rules."""
    address = f"http://{http.header('host') or f'{settings.host}:{settings.port}'}"
    bases = {name: address + dialect.mounts[0] for name, dialect in discover().items()}
    usual = address + bare(discover()[settings.dialect].mounts[0])
    if "text/html" in (http.header("accept") or ""):
        rows = "".join(f"<tr><td>{escape(name)}<td><code>{escape(base)}</code>" for name, base in bases.items())
        kind, control = "text/html; charset=utf-8", f"{CONTROL}/api/calls"
        body = _PAGE.format(usual=escape(usual), dialect=settings.dialect, rows=rows, control=control).encode()
    else:
        told = {"server": "mockserver", "base_url": usual, "dialect": settings.dialect, "base_urls": bases}
        kind, body = "application/json", json.dumps(told).encode()
    safe = {**{name.decode(): value.decode() for name, value in SECURITY}, **dict(SANDBOX)}.items()
    return Reply(200, (("content-type", kind), ("content-length", str(len(body))), *safe), body)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mockserver</title>
<h1>mockserver</h1>
<p>This is a mock server for LLM APIs. It answers as the providers do, by rules, recordings or made-up text.
<p>Point your client's base URL to <code>{usual}</code> ({dialect}), or to another provider's:
<table><tr><th>dialect<th>base URL{rows}</table>
<p>The calls it has received are at <a href="{control}">{control}</a>.
</html>
"""


def unreachable(rules: Sequence[Rule], dialect: str) -> Iterator[Remark]:
    """The rules that no path and method can reach, as far as their own words show."""
    known = _known(dialect)
    for rule in rules:
        if why := _never(rule, known):
            yield Remark(rule, f"never answers: {why}")


@cache
def _known(dialect: str) -> Sequence[Endpoint]:
    """Every path, with the bare ones of each dialect, as rules see paths with and without their mounts."""
    return [place for name in (dialect, *discover()) for place in places(discover(), name)]


def _never(rule: Rule, known: Sequence[Endpoint]) -> str | None:
    methods = pinned(rule.when, "method")
    if "path" not in rule.when.uses:
        operations = pinned(rule.when, "operation")
        served = [place.operations for place in known]
        taken = [operation_for(str(method), each) for method in methods or () for each in served]
        if methods is None or operations is None or any(each and each.name in operations for each in taken):
            return None
        return f"no {', '.join(sorted(map(str, operations)))} is called by {_listed(methods)}; add a path"
    reasons = [_unreachable(path, rule, methods, known) for path in _stated(rule.spec.get("when"))]
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
    fixed, *parameters = template.split("{", 1)
    return fixed.startswith(start) or bool(parameters and start.startswith(fixed))


def _listed(names: Iterable[Json]) -> str:
    return ", ".join(sorted(map(str, names)))
