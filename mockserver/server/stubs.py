"""Calls at paths that no dialect knows, which rules match there, and the rule that a 404 suggests."""

import json
import re
from collections.abc import Iterable
from functools import cache, partial
from hashlib import blake2b
from urllib.parse import parse_qsl

from mockserver.core.call import OTHER, Call
from mockserver.core.http import HttpRequest, Reply, read_media_type
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Success
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._parse import read_json
from mockserver.rules.load import Rule
from mockserver.rules.match.fields import METHODS
from mockserver.server.routes import Endpoint, drop_dialect_segment

_MAX_FIELDS = 1000  # of a form
_MAX_SUGGESTED_PATH = 200  # characters of a path that a suggested rule names
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)', re.IGNORECASE)
_PLAIN = re.compile(r"/[\w/.~-]*")


@cache
def make_stub_operation(dialect: str, host: str = "") -> Operation:
    """Return the operation at a path that no dialect knows, in the words of the dialect or host that would own it."""
    return Operation(OTHER, method="", path="", parse=partial(_parse, dialect, host), render=_render)


def choose_operation(endpoint: Endpoint, method: str) -> Operation | None:
    """Return what a method asks for; None where the path does not take it. Unknown paths take any, for rules."""
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
    if read_media_type(http.find_header("content-type") or "") == "application/x-www-form-urlencoded":
        try:
            return dict(parse_qsl(http.body.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
        except ValueError:
            return {}
    return {}


def digest_body(http: HttpRequest) -> str:
    """Return a hash of a body, the same for every boundary of its parts, which clients draw at random."""
    found = _BOUNDARY.search(http.find_header("content-type") or "")
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
