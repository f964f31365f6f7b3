"""Suggestions for an unmatched call: a change to the nearest rule, or a new rule to paste.

Each is tested against the call before it is shown, and contains none of its credentials.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import RuleError
from mockserver.core.call import OTHER, Call, find_last_tool_result
from mockserver.core.json import Json, compact
from mockserver.core.mcp_server import McpRequest
from mockserver.core.text import count_noun, join_to_line
from mockserver.engine.answer import split_prompts
from mockserver.kinds import ARTIFACTS, ASKED, CONVERSATIONS, LOOK_UPS
from mockserver.reports.diff import find_loosening, find_span, is_secret
from mockserver.rules.match.conditions import ConditionResult
from mockserver.rules.match.fields import FREE_TEXT, read_path_without_mount
from mockserver.rules.match.parse import compile_when
from mockserver.rules.match.regexes import read_slashed
from mockserver.rules.nearest import NearMiss

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

MAX_WHOLE = 60  # characters of a text that a condition states whole
_MAX_END = 40  # characters of each end of a longer text
_MAX_TOOLS = 4  # tools that are all named
_MIN_PIECE = 3  # characters of a text that distinguish it from others

When = dict[str, Json]
Table = Mapping[str, Json]
_MAX_LINE = 100  # characters of a rule on one line


class Suggestion(Struct, frozen=True):
    when: Mapping[str, Json]
    then: Mapping[str, Json]
    tool: str | None = None

    @property
    def lines(self) -> Iterator[str]:
        yield "add a rule to the test:"
        yield from (f"  {line}" for line in write_python_rule(self.when, self.then))
        if self.tool is not None:
            yield f"  # or call a tool: .reply(tool_calls=[{write_python({'name': self.tool, 'arguments': 'auto'})}])"
        yield "or to a rules file:"
        yield from (f"  {line}" for line in write_yaml_rule(self.when, self.then))


def suggest_rule(call: Call, secrets: "Secrets", *, lost: bool = False) -> Suggestion | None:
    """Return a rule for this call, as specific as possible; `lost`: the answer that it continues is unknown."""
    specific = _make_specific(call, secrets, lost=lost)
    operation = {"operation": call.operation}
    general = {"model": _match_exactly(call.model), **operation} if _is_clean(call.model, secrets) else operation
    if call.operation == OTHER and "path" not in specific:
        return None
    for when in (specific, {**general, **specific}, general, operation):
        if when and _matches(when, call):
            return Suggestion(when, _choose_answer(call), _choose_tool(call, secrets))
    return None


def suggest_change(near: NearMiss, call: Call, secrets: "Secrets") -> str | None:
    """Return how to change a rule that misses by one condition; None if it misses by more, or no change helps."""
    rule = near.rule
    if near.held == len(near.results) and rule.times is not None:
        used_up = f"{rule.where} is used up after {count_noun(rule.times, 'call')}"
        return f"{used_up}; increase times, or add a rule for the rest"
    change = find_change(near, call, secrets)
    if change is None:
        return None
    if change.value is None:
        return f"remove {join_to_line(change.field)} from {rule.where}"
    written = write_python_field if rule.place is not None and rule.place.file.endswith(".py") else write_yaml_field
    return f"change {rule.where} to {written(change.field, change.value)}"


class ConditionChange(NamedTuple):
    """A field of `when`, and the value with which the rule would match; None: without the field."""

    field: str
    value: Json


def find_change(near: NearMiss, call: Call, secrets: "Secrets") -> ConditionChange | None:
    """Return how to change the only condition that misses; None if there are others, or no change helps."""
    failed = [result for result in near.results if not result.ok]
    when = near.rule.spec.get("when")
    if len(failed) != 1 or not isinstance(when, Mapping) or failed[0].field not in when or _is_unrelated(failed[0]):
        return None
    [result] = failed
    value = None if is_secret(result) else _find_matching(result, when[result.field], secrets)
    changed = {name: inner for name, inner in when.items() if name != result.field}
    changed |= {} if value is None else {result.field: value}
    return ConditionChange(result.field, value) if _matches(changed, call) else None


def _is_unrelated(result: ConditionResult) -> bool:
    is_alike = find_span(result) is not None or find_loosening(result) or _find_pattern(result)
    return result.field in FREE_TEXT and not is_alike


def _find_pattern(result: ConditionResult) -> Mapping[str, Json] | None:
    """Return the pattern that a text between slashes means, which was compared as it is."""
    wanted = result.expected
    if not isinstance(wanted, str) or result.predicate not in ("equals", "glob") or result.field not in FREE_TEXT:
        return None
    return read_slashed(wanted)


def _find_matching(result: ConditionResult, stated: Json, secrets: "Secrets") -> Json:
    actual: Json = result.actual
    if more := find_loosening(result):
        table = stated if isinstance(stated, Mapping) else {result.predicate: stated}
        return {**table, **dict.fromkeys(more, True)}
    if pattern := _find_pattern(result):
        return pattern
    match actual:
        case bool() | int() | float():
            return actual
        case str() if result.field in FREE_TEXT and isinstance(stated, str) and _is_part(stated, actual):
            return f"*{stated}*"
        case str():
            return _match_text(actual, secrets)
        case list() | tuple() if result.field == "tools" and all(_is_clean(name, secrets) for name in actual):
            return _match_tools(tuple(actual)) if actual else {"exists": False}
        case Mapping() if len(compact(actual)) <= MAX_WHOLE and _is_clean(compact(actual), secrets):
            return {"equals": actual}
    return None


def _make_specific(call: Call, secrets: "Secrets", *, lost: bool) -> When:
    """Return what distinguishes the call from others: its last message, tools and turn."""
    if call.mcp is not None:
        return dict(_make_mcp_specific(call.mcp, secrets))
    when: When = {}
    if call.operation not in ASKED:
        when |= {"method": call.http.method} if call.operation == OTHER else {"operation": call.operation}
        path = read_path_without_mount(call)
        if _is_clean(path, secrets):
            when["path"] = _match_exactly(path)
    if lost and call.previous_response_id is not None and _is_clean(call.previous_response_id, secrets):
        when["previous_response"] = _match_exactly(call.previous_response_id)
    result = find_last_tool_result(call)
    if result is not None:
        parts = {
            "name": result["name"] and _match_exactly(result["name"]),
            "text": _match_text(result["text"], secrets),
        }
        when["tool_result"] = {name: value for name, value in parts.items() if value is not None} or {"exists": True}
        return when
    text = _match_text(call.last_user, secrets) if call.last_user and len(call.prompts) <= 1 else None
    if text is not None:
        when["last_user"] = text
    if call.tools:
        names = tuple(tool.name for tool in call.tools)
        if call.previous_response_id is None:
            when["turn"] = call.turn  # the request with the tool's result is another turn
        if all(_is_clean(name, secrets) for name in names):
            when["tools"] = _match_tools(names)
    return when


def _make_mcp_specific(request: McpRequest, secrets: "Secrets") -> Iterator[tuple[str, Json]]:
    """Yield what distinguishes a call of an MCP server from others: its server, its target and the arguments."""
    field = {"tools/call": "tool", "prompts/get": "prompt_name", "resources/read": "resource"}[request.method]
    yield "mcp", _match_exactly(request.server)
    yield field, _match_exactly(request.target)
    for name, value in request.arguments.items():
        if isinstance(value, str) and (text := _match_text(value, secrets)) is not None:
            yield f"arguments.{name}", text
        elif isinstance(value, bool | int | float):
            yield f"arguments.{name}", value


def _match_tools(names: tuple[str, ...]) -> Json:
    if any("*" in name or "\\" in name for name in names):
        return {"length": len(names)}
    if len(names) > _MAX_TOOLS:
        return {"includes": list(names[:_MAX_TOOLS])}
    return names[0] if len(names) == 1 else list(names)


def _match_text(text: str, secrets: "Secrets") -> Json:
    """Return a condition for a text: all of it, both ends if it is long, or a part; None if too little is left."""
    found = _split_text(text, secrets)
    if found == [text]:
        return (
            _match_exactly(text)
            if len(text) <= MAX_WHOLE
            else {"starts_with": _cut_beginning(text), "ends_with": _cut_end(text)}
        )
    ends = {"starts_with": _cut_beginning(found[0]), "ends_with": _cut_end(found[-1])}
    kept = {name: piece for name, piece in ends.items() if len(piece) >= _MIN_PIECE}
    longest = _cut_beginning(max(found, key=len))
    return kept or ({"contains": longest} if len(longest) >= _MIN_PIECE else None)


def _cut_beginning(text: str) -> str:
    cut = text[:_MAX_END]
    words = cut.rpartition(" ")[0] if len(text) > _MAX_END else cut
    return words if len(words) > _MAX_END // 2 else cut


def _cut_end(text: str) -> str:
    return _cut_beginning(text[-MAX_WHOLE:][::-1])[::-1]


def _split_text(text: str, secrets: "Secrets") -> list[str]:
    """Return the text between its credentials and lone surrogates, which no file can contain."""
    return _SURROGATE.sub(_GAP, replace(secrets, instead=lambda _: _GAP).mask_text(text)).split(_GAP)


def _is_clean(text: str, secrets: "Secrets") -> bool:
    return _split_text(text, secrets) == [text]


def _match_exactly(text: str) -> Json:
    return {"equals": text} if "*" in text or "\\" in text else text


def _is_part(text: str, of: str) -> bool:
    return bool(text) and text in of and _match_exactly(text) == text


def _matches(when: Mapping[str, Json], call: Call) -> bool:
    mistakes = list[str]()
    condition = compile_when(when, lambda message, path: mistakes.append(message))
    calls = split_prompts(call) if len(call.prompts) > 1 else (call,)
    try:
        return not mistakes and all(condition.holds(each) is not None for each in calls)
    except RuleError:  # a pattern that takes too long
        return False


def _choose_tool(call: Call, secrets: "Secrets") -> str | None:
    """Return the tool to call: the first, unless the call has the result of one."""
    expected = call.tools and find_last_tool_result(call) is None and call.operation in _WITH_TOOLS
    return call.tools[0].name if expected and _is_clean(call.tools[0].name, secrets) else None


def _choose_answer(call: Call) -> Mapping[str, Json]:
    if call.operation in LOOK_UPS:
        return {"error": 404}
    if call.operation in ARTIFACTS:
        then = ARTIFACTS[call.operation].then
        return {then.key: then.example}
    return (
        {"json": {}}
        if call.operation == OTHER or call.options.response_format in ("json_object", "json_schema")
        else {"text": "..."}
    )


_WITH_TOOLS = frozenset(name for name, kind in CONVERSATIONS.items() if kind.has_tools)
_SURROGATE = re.compile("[\ud800-\udfff]")
_GAP = "\ue000"  # a private-use character


def write_python_rule(when: Table, then: Table) -> Iterator[str]:
    subject = "mockserver"
    if "mcp" in when:
        subject = f"mockserver.mcp({write_python(when['mcp'])})"
        when = {name: value for name, value in when.items() if name != "mcp"}
    arguments = [f"{name}={write_python(value)}" for name, value in _find_keywords(when).items()]
    line = f"{subject}.on({', '.join(arguments)}){_write_answer(then)}"
    if len(line) <= _MAX_LINE:
        yield line
    else:
        yield from (f"{subject}.on(", *(f"    {argument}," for argument in arguments), f"){_write_answer(then)}")


def write_yaml_rule(when: Table, then: Table) -> Iterator[str]:
    fields = [write_yaml_field(name, value) for name, value in when.items()]
    line = f"- when: {{{', '.join(fields)}}}"
    yield from [line] if len(line) <= _MAX_LINE else ["- when:", *(f"    {field}" for field in fields)]
    yield f"  then: {write_yaml(then)}"


def write_python_field(name: str, value: Json) -> str:
    """Return one condition as an argument of `on`: `last_user="hello"`."""
    [(keyword, inner)] = _find_keywords({name: value}).items()
    return f"{keyword}={write_python(inner)}"


def write_yaml_field(name: str, value: Json) -> str:
    """Return one condition as a line of `when`: `last_user: hello`."""
    return f"{name}: {write_yaml(value)}"


def write_python(value: Json) -> str:
    return _write_literal(value, {True: "True", False: "False", None: "None"}, _quote)


def write_yaml(value: Json) -> str:
    return _write_literal(
        value,
        {True: "true", False: "false", None: "null"},
        lambda text: text if _BARE.fullmatch(text) and text.lower() not in _YAML_WORDS else _quote(text),
    )


def _write_literal(value: Json, constants: Mapping[object, str], text: Callable[[str], str]) -> str:
    match value:
        case bool() | None:
            return constants[value]
        case str():
            return text(value)
        case Mapping():
            pairs = (f"{text(str(name))}: {_write_literal(inner, constants, text)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_write_literal(inner, constants, text) for inner in value)}]"
    return json.dumps(value)


def _quote(text: str) -> str:
    """Return a text in double quotes, with escapes that Python and YAML share."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in escaped) + '"'


def _find_keywords(when: Table) -> dict[str, Json]:
    """Return a `when` as the arguments of `on`: `param.n` is in a table `param`, `not` is `not_`."""
    found: dict[str, Json] = {}
    for name, value in when.items():
        family, _, inner = name.partition(".")
        if inner:
            found.setdefault(family, {})[inner] = value
        else:
            found["not_" if name == "not" else name] = value
    return found


def _write_answer(then: Table) -> str:
    if "error" in then:
        return f".fail({write_python(then['error'])})"
    if "text" in then:
        return f".reply({write_python(then['text'])})"
    return f".reply({', '.join(f'{name}={write_python(value)}' for name, value in then.items())})"


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_YAML_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
