"""Paths that no dialect knows: the call that rules match there, and the rule that a 404 suggests."""

import json
import re
from collections.abc import Iterable
from functools import cache, partial
from hashlib import blake2b
from urllib.parse import parse_qsl

from mockserver.core.call import OTHER, Call
from mockserver.core.http import HttpRequest, Reply, essence
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Success
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._parse import read_json
from mockserver.rules.load import Rule
from mockserver.rules.match.fields import METHODS
from mockserver.server.routes import bare

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


def is_stubbed(http: HttpRequest, dialect: str, rules: Iterable[Rule]) -> bool:
    """Whether a rule may answer here, as far as its path and method say."""
    call = Call(dialect, OTHER, "", http, ())
    results = (rule.when.results(call) for rule in rules if rule.stubs)
    return any(all(one.ok for one in found if one.field in ("path", "method")) for found in results)


def missing(http: HttpRequest, dialect: Dialect) -> str | None:
    """A rule, ready to paste, for an endpoint that the provider has and its dialect does not; None if it is none."""
    fronts = sorted({*dialect.mounts, *map(bare, dialect.mounts)}, key=len, reverse=True)
    front = next((front for front in fronts if http.path.startswith(f"{front}/")), http.path)
    rest = http.path[len(front) :]
    then = next((then for path, then in dialect.missing.items() if _is_below(path, rest)), None)
    if then is None or "*" in http.path or len(http.path) > _LONGEST:
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
