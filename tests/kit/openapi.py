"""The OpenAPI file of the control API, made of its routes, the types of bodies and answers, and what its views read.

Routes are those of `mockserver.server.control`, descriptions the docstrings of their views. Query parameters are found
in the source of each view, so that none is forgotten or made up.
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, field
from msgspec.structs import fields

from mockserver.config.settings import RecordMode
from mockserver.core.http import CONTROL
from mockserver.delivery.faults import FAULTS
from mockserver.rules.json_schema import make_rules_schema
from mockserver.rules.schema import RuleSpec
from mockserver.server.access import OPEN
from mockserver.server.control import (
    ROUTES,
    calls,
    cassette,
    copies,
    feed,
    media,
    metrics,
    rules,
    state,
    trials,
)
from mockserver.server.control.fleet import View
from mockserver.server.control.requests import ControlRequest
from tests.kit import control_types as types
from tests.kit.control_types import Json, Maybe, Part, about

FILE = Path(__file__).parents[2] / "docs/reference/openapi.json"
_COMPONENTS = "#/components/schemas/"


class Described(Part, kw_only=True):
    """A call by its number, or a request: its body, or path, method, headers and body."""

    call: Annotated[Maybe[int], about("number of a call")] = UNSET
    path: Annotated[Maybe[str], about("where it goes (default: by the body)")] = UNSET
    method: Annotated[Maybe[str], about("default: POST if there is a body")] = UNSET
    headers: Maybe[dict[str, str]] = UNSET
    body: Annotated[Maybe[Json], about("as sent to the provider")] = UNSET
    dialect: Annotated[Maybe[str], about("whose usual path is meant; default: that of bare paths")] = UNSET


class RequestToExplain(Described):
    """What to explain."""

    limit: Annotated[Maybe[int], about("of a `call`, only that many rules, the nearest first")] = UNSET


class RequestToTry(Described):
    """What to try."""

    rules: Annotated[Maybe[str], about("a draft of rules, as YAML, in front of the others")] = UNSET
    instead_of: Annotated[Maybe[str], about("the name of the rule in whose place the draft is")] = UNSET


class RulesToTry(Part):
    """A draft of rules."""

    rules: Annotated[str, about("a draft of rules, as YAML")]
    instead_of: Annotated[Maybe[str], about("the name of the rule in whose place the draft is")] = UNSET
    calls: Annotated[Maybe[int], about("that many of the latest (default: 500)")] = UNSET


class RuleToWrite(Part):
    """Lines of a rules file, and what to put there."""

    from_: Annotated[int, about("the number of the first line of a rule")] = field(name="from")
    to: Annotated[int, about("its last line; the line before `from` puts a rule in")]
    text: Annotated[str, about("`- name: ...`")]
    sha256: Annotated[str, about("hash of the file, as in `where` of a rule")]


class CassetteToUse(Part):
    """A cassette."""

    name: Annotated[str | None, about("its name; null for none")]
    record: Annotated[Maybe[RecordMode], about("record mode (default: the settings')")] = UNSET


class CallsToCompare(Part):
    """Numbers of two calls."""

    calls: Annotated[list[int], Meta(min_length=2, max_length=2, description="numbers of two calls")]


class StateToSet(Part):
    """A scenario's state."""

    state: Annotated[str, Meta(min_length=1, description="the state that rules ask for")]


class TimingToSet(Part):
    """Whether to wait."""

    on: Annotated[bool, about("false to send answers at once")]


class SendAgain(Part):
    """How to send a call again."""

    forward: Annotated[Maybe[bool], about("true to send it upstream, too, which is a 409 otherwise")] = UNSET


class Shape(Struct, frozen=True):
    """What an operation answers and takes: types, or media types of text. `other` is the answer to `when`."""

    answer: Any
    body: Any = None
    status: int = 200
    other: Any = None
    when: str = ""  # a query parameter


SHAPES: Mapping[View, Shape] = {
    state.show_health: Shape(types.Health),
    state.show_readiness: Shape(types.Ready),
    calls.list_calls: Shape(types.Calls, other=types.CompactCalls, when="compact=true"),
    calls.show_call: Shape(types.CallDetail),
    calls.forget_calls: Shape(types.Forgotten),
    feed.open_feed: Shape("text/event-stream"),
    copies.show_body: Shape("text/plain"),
    media.show_medium: Shape("application/octet-stream"),
    copies.copy_call: Shape("text/plain"),
    trials.send_again: Shape(types.SentAgain, SendAgain),
    calls.compare_calls: Shape(types.Comparison, CallsToCompare),
    rules.list_rules: Shape(types.Rules),
    rules.write_rule: Shape(types.WrittenRule, RuleToWrite),
    rules.add_rules: Shape(types.Added, RuleSpec, 201),
    rules.remove_rules: Shape(types.Removed),
    rules.remove_rule: Shape(types.Removed),
    cassette.show_cassette: Shape(types.CassetteInUse, other=types.Played, when="namespace=*"),
    cassette.play_cassette: Shape(types.CassetteInUse, CassetteToUse),
    cassette.unplay_cassette: Shape(types.CassetteInUse),
    cassette.list_episodes: Shape(types.Episodes),
    trials.explain_request: Shape(types.Explained, RequestToExplain),
    trials.try_request: Shape(types.Tried, RequestToTry),
    trials.try_rules: Shape(types.TriedRules, RulesToTry),
    state.show_state: Shape(types.States),
    state.set_state: Shape(types.State, StateToSet),
    state.set_timing: Shape(types.TimingState, TimingToSet),
    state.reset: Shape(types.Reset),
    state.reload_files: Shape(types.Reloaded),
    metrics.show_metrics: Shape("text/plain"),
}
# What each query parameter means.
QUERY: Mapping[str, str] = {
    "namespace": "the namespace (default: `default`)",
    "model": "calls with this model",
    "operation": "calls with this operation",
    "dialect": "calls with this dialect",
    "status": "calls with this status",
    "source": "`rule`, `cassette`, `forwarded`, `generated`, `stored`, `service`, `unmatched`, `limited`, `budget`,"
    " `invalid`, `crashed`, or all of it",
    "rule": "answered or changed by this rule: its name, its place (`rules.yaml:8`), or both",
    "unmatched": "no rule answered, whether or not an answer was generated",
    "defect": "a rule, or mockserver itself, failed on the call",
    "service": "also the calls that rules with `service: true` answered",
    "ended": "`open`, or as in `ended` without the amount: `client left`",
    "contains": "this text was said or returned by a tool last, or answered, in the first 1,000 characters",
    "since": "calls after this number",
    "before": "calls before this number",
    "numbers": "up to 100 of these numbers: `7,9`",
    "limit": "at most that many; of calls the newest",
    "after": "those after so many rules, or after the episode of this number",
    "bodies": "adds the bodies",
    "digest": "adds `said` and `answered` (160 characters each), `tools` and `conversation`",
    "compact": "one line, without what is empty, null, false or usual: namespace `default`, method `POST`, attempt 1,"
    " ended `complete`, and the path of a known operation",
    "of": "of which of the two",
    "at": "which one, from 0",
    "form": "a command, a rule in YAML, a test, or what `POST explain` takes",
    "replace": "replaces added rules of the same name",
}
# The words that it takes, if these are few.
_WORDS: Mapping[str, tuple[str, ...]] = {"of": ("reply", "request"), "form": tuple(copies.FORMS)}
_TYPES = {"read_number": "integer", "read_switch": "boolean", "get": "string"}
_ITEM = {"/api/calls/": ("number", "integer"), "/api/rules/": ("name", "string"), "/api/files/": ("number", "integer")}


class Route(Struct, frozen=True):
    method: str
    path: str  # below CONTROL, with its parameter in braces
    view: View

    @property
    def id(self) -> str:
        return f"{self.method.lower()}_{'_'.join(re.findall(r'[a-z]+', self.path.removeprefix('/api')))}"

    @property
    def words(self) -> str:
        """What it does."""
        return " ".join((self.view.__doc__ or "").split())

    @property
    def shape(self) -> Shape:
        return SHAPES[self.view]

    @property
    def query(self) -> Mapping[str, str]:
        """The types of its query parameters."""
        found = dict(_query(self.view))
        if self.takes_namespace:
            found["namespace"] = "string"
        return {name: found[name] for name in sorted(found, key=list(QUERY).index)}

    @property
    def takes_namespace(self) -> bool:
        return bool(_attributes(self.view) & {"namespace", "namespaces", "one_namespace", "find_call"})

    @property
    def takes_all(self) -> bool:
        """Whether it takes `*` for all namespaces."""
        return "namespaces" in _attributes(self.view) and "one_namespace" not in _attributes(self.view)


def routes() -> Iterator[Route]:
    for path, routes in ROUTES.items():
        yield from (Route(method, path, route.view) for method, route in routes.items())


def find_route_of(method: str, path: str) -> Route | None:
    """The route of a request, by its path below CONTROL."""
    fits = [each for each in routes() if each.method == method and _fits(each.path, path)]
    return min(fits, key=lambda each: each.path.count("{"), default=None)


def _fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path) is not None


def check_answer(method: str, path: str, status: int, answer: Json) -> None:
    """Raise msgspec.ValidationError if a JSON answer is not of the type of its route."""
    path, _, query = path.partition("?")
    route = find_route_of(method, path)
    if route is not None and not isinstance(route.shape.answer, str):
        shape = route.shape
        usual = shape.other if shape.when and shape.when in query.split("&") else shape.answer
        msgspec.convert(answer, types.Error if status >= 400 else usual)


def document() -> Json:
    """The whole file."""
    made = [each.answer for each in SHAPES.values()] + [each.other for each in SHAPES.values()]
    taken = [each.body for each in SHAPES.values() if each.body is not RuleSpec]
    structs = [each for each in (*made, *taken, types.Error) if isinstance(each, type)]
    _, components = msgspec.json.schema_components(structs, ref_template=_COMPONENTS + "{name}")
    components |= _rule_components()
    paths: dict[str, Json] = {}
    for route in routes():
        paths.setdefault(CONTROL + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "mockserver control API", "version": "1", "description": _ABOUT, "license": _LICENSE},
        "servers": [{"url": "http://127.0.0.1:8000"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": _plain(components),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


_ABOUT = "Which rule answered, what was retried, and rules from tests in any language."
_LICENSE = {"name": "MIT", "identifier": "MIT"}


def _rule_components() -> dict[str, Json]:
    """A rule as in a rules file; client generators do not take the whole schema of its `when` and `then`."""
    spec = make_rules_schema(FAULTS)["$defs"]["Rule"]
    table = {"type": "object", "additionalProperties": True}
    properties = {
        name: {**table, "description": each["description"]} if "$ref" in each else each
        for name, each in spec["properties"].items()
    }
    words = "A rule, as in a rules file; `mockserver schema` prints the JSON Schema of all of it."
    rule = {"type": "object", "description": words, "properties": properties, "required": spec["required"]}
    many = {"type": "array", "items": {"$ref": f"{_COMPONENTS}Rule"}}
    return {"Rule": rule, "RuleList": {"type": "object", "properties": {"rules": many}, "required": ["rules"]}}


def _plain(schema: Json) -> Json:
    """The schemas as clients want them: a later version may add fields, and titles that repeat a name are left out."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _plain(value)
        for key, value in schema.items()
        if not (key == "additionalProperties" and value is False) and not (key == "title" and isinstance(value, str))
    }


def _operation(route: Route) -> Json:
    shape, words = route.shape, route.words
    summary = re.split(r"(?<=[\w)`])[.;:] |\.$", words)[0]
    body = {} if shape.body is None else {"requestBody": _body(route)}
    return {
        "operationId": route.id,
        "tags": ["control"],
        "summary": summary,
        "description": words,
        "parameters": list(_parameters(route)),
        **body,
        "responses": {
            str(shape.status): {"description": "done", "content": _content(shape)},
            "default": {"description": "refused", "content": _json(types.Error)},
        },
        **({"security": [{}]} if CONTROL + route.path in OPEN else {}),
    }


def _content(shape: Shape) -> Json:
    if isinstance(shape.answer, str):
        return {shape.answer: {"schema": {"type": "string"}}}
    if shape.other is None:
        return _json(shape.answer)
    return {"application/json": {"schema": {"anyOf": [_ref(shape.answer), _ref(shape.other)]}}}


def _json(answer: Any) -> Json:
    return {"application/json": {"schema": _ref(answer)}}


def _ref(answer: Any) -> Json:
    return {"$ref": f"{_COMPONENTS}{answer.__name__}"}


def _body(route: Route) -> Json:
    body = route.shape.body
    if body is RuleSpec:
        either = {"anyOf": [{"$ref": f"{_COMPONENTS}RuleList"}, {"$ref": f"{_COMPONENTS}Rule"}]}
        return {"required": True, "content": {"application/json": {"schema": either}}}
    return {"required": body is not SendAgain, "content": _json(body)}


def _parameters(route: Route) -> Iterator[Json]:
    for name in re.findall(r"{(\w+)}", route.path):
        kind = next(kind for front, (_, kind) in _ITEM.items() if route.path.startswith(front))
        yield {"name": name, "in": "path", "required": True, "schema": {"type": kind}}
    for name, kind in route.query.items():
        words = QUERY[name] + ("; `*` for all" if name == "namespace" and route.takes_all else "")
        schema = {"type": kind, **({"enum": list(_WORDS[name])} if name in _WORDS else {})}
        yield {"name": name, "in": "query", "required": False, "schema": schema, "description": words}
    if route.method != "GET" and route.shape.body in (None, SendAgain):
        words = "any value, so that web pages can't send this"
        yield {"name": "x-mockserver-control", "in": "header", "schema": {"type": "string", "default": "1"}} | {
            "required": False,
            "description": words,
        }


def describe_query(route: Route) -> Mapping[str, str]:
    """What each query parameter of a route means, and the words that it takes."""
    words = {name: f" ({', '.join(f'`{each}`' for each in taken)})" for name, taken in _WORDS.items()}
    return {name: QUERY[name] + words.get(name, "") for name in route.query}


def describe_body(route: Route) -> Iterator[str]:
    """The keys of a body, with their meaning."""
    body = route.shape.body
    if body is RuleSpec:
        yield "a rule, or `rules`"
    elif body is not None:
        shared = Described if issubclass(body, Described) and body is not RequestToExplain else None
        known, left = dict(list_described_fields(body)), set(shared.__struct_encode_fields__) if shared else set[str]()
        for each in fields(body):
            if each.encode_name not in left:
                words = known.get(f"`{each.encode_name}`")
                yield f"`{each.encode_name}`: {words}" if words else f"`{each.encode_name}`"
        if shared:
            yield "what `POST explain` takes"


def list_described_fields(struct: type[Struct]) -> Iterator[tuple[str, str]]:
    """The fields of a type that have a description, its own before those of its bases."""
    _, components = msgspec.json.schema_components([struct], ref_template="{name}")
    properties = components[struct.__name__]["properties"]
    own = (name for each in struct.__mro__ for name in getattr(each, "__annotations__", ()))
    for name in dict.fromkeys(name.removesuffix("_") for name in own):
        if "description" in properties.get(name, ()):
            yield f"`{name}`", properties[name]["description"]


def text() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


@cache
def _sources(view: View) -> Mapping[Any, ast.AST]:
    """The view and the functions and classes of the control API that it names, parsed."""
    found, ahead = dict[Any, ast.AST](), list[Any]([view])
    while ahead:
        each = ahead.pop()
        if each not in found and each is not ControlRequest:
            found[each] = ast.parse(dedent(inspect.getsource(each)))
            named, bound = _names(found[each])
            known = (vars(sys.modules[each.__module__]).get(name) for name in sorted(named - bound))
            ahead += [each for each in known if inspect.isfunction(each) or inspect.isclass(each) if _is_here(each)]
    return found


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that are read, and those that are bound within."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {each.id for each in names}, bound | {each.id for each in names if isinstance(each.ctx, ast.Store)}


def _is_here(each: Any) -> bool:
    return str(each.__module__).startswith("mockserver.server.control")


def _attributes(view: View, *without: Any) -> set[str]:
    """What a view reads of its request, but for what these functions read."""
    sources = (source for function, source in _sources(view).items() if function not in without)
    nodes = (node for source in sources for node in ast.walk(source) if isinstance(node, ast.Attribute))
    return {node.attr for node in nodes if ast.unparse(node.value) in ("request", "self._request")}


def _query(view: View) -> Iterator[tuple[str, str]]:
    for called, names in _find_called(view):
        if called in ("read_number", "read_switch", "query.get"):
            yield names[0], _TYPES[called.rpartition(".")[2]]
    if view is calls.list_calls:
        for name, each in calls.FILTERS.items():
            yield name, _TYPES.get(each.wanted.__name__, "string")


def keys(view: View) -> frozenset[str] | None:
    """The keys that a view takes in its body, if it takes no others."""
    return next((frozenset(names) for called, names in _find_called(view) if called == "read_table"), None)


def _find_called(view: View) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What methods of its request a view calls, with the names that it gives them."""
    for node in (node for source in _sources(view).values() for node in ast.walk(source)):
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)).startswith("request."):
            names = tuple(each.value for each in node.args if isinstance(each, ast.Constant))
            if names:
                yield called.removeprefix("request."), names  # type: ignore[misc]
