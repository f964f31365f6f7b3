"""Checks of a rule: which keys of its answer go together, which operations it can answer, which dialects can send it.

Text answers chats, completions and responses; the kinds of other operations define what answers them; errors and raw
bytes answer any operation.
"""

from collections.abc import Collection, Container, Iterator, Mapping

from msgspec import Struct

from mockserver.config.hosts import HOST_NAMES
from mockserver.config.source import Path, suggest
from mockserver.core.call import WEBSOCKET, Call
from mockserver.core.draft import ArtifactDraft, Draft, RuleOutcome
from mockserver.core.http import CONTROL
from mockserver.core.json import Json
from mockserver.kinds import ARTIFACTS, CONVERSATIONS, CREATIONS, OPERATIONS, SERVED, THEN_KEYS, list_answered
from mockserver.kinds.kind import MCP_ANSWER_KEYS
from mockserver.kinds.objects import STATUS
from mockserver.kinds.wire_formats import find_format
from mockserver.rules.match.conditions import All, Condition, mark_implied
from mockserver.rules.match.index import find_pinned
from mockserver.rules.match.parse import compile_when
from mockserver.rules.schema import ContentSpec, ThenSpec
from mockserver.rules.templates import CompileContext

Known = Mapping[str, frozenset[str]]  # the features of each dialect
SAYS = ("text", "json", "refusal", "tool_error")  # with or without tool calls, each is of the kind "content"


def find_kind(then: ContentSpec, context: CompileContext) -> str | None:
    """Return the kind of answer in a table (a key of BESIDE); report it and return None if there is not exactly one."""
    keys = then.stated_keys
    outcomes = [key for key in keys if key in OUTCOMES and _is_answer(key, keys, then)]
    if not outcomes:
        context.refuse(_explain_no_answer(keys, then))
        return None
    kind = OUTCOMES[outcomes[0]]
    words = [key for key in outcomes if key in SAYS]
    other = next((key for key in outcomes if OUTCOMES[key] != kind), words[1] if len(words) > 1 else None)
    if other is not None:
        context.at(other).refuse_key(f'use "{outcomes[0]}" or "{other}", not both{_HINTS.get(other, "")}')
        return None
    for key in keys:
        if key not in outcomes and key not in BESIDE[kind]:
            hint = _ADVICE.get((kind, key)) or _ADVICE.get((kind, ""), "")
            context.at(key).refuse_key(f'"{key}" cannot be combined with "{outcomes[0]}"{hint}')
    return kind


def _is_answer(key: str, keys: Collection[str], then: ContentSpec) -> bool:
    match key:
        case "content_filter":
            return then.content_filter is not None and then.content_filter.on == "prompt"
        case "failed" | "faults" | "timing":
            return not any(other in OUTCOMES for other in keys if other != key and other not in _SENT)
    return True


def _explain_no_answer(keys: Collection[str], then: ContentSpec) -> str:
    if "content_filter" in keys:
        return '"content_filter" on the completion needs text to cut; add text: ..., or write on: prompt'
    if "retry_after" in keys:
        return '"retry_after" needs an error; add error: 429'
    answers = [key for key in OUTCOMES if key in then.model_keys]
    return f"an answer is missing here; write one of {', '.join(answers)}"


# The keys that are answers, and their kinds.
OUTCOMES: Mapping[str, str] = {
    "text": "content",
    "json": "content",
    "refusal": "content",
    "tool_calls": "content",
    "items": "content",
    "parts": "parts",
    "choices": "choices",
    "error": "error",
    "content_filter": "content_filter",  # on the prompt; on the completion it goes with a text
    "generate": "generate",
    "echo": "echo",
    "raw": "raw",
    "cassette": "cassette",
    "forward": "forward",
    "steps": "steps",
    "one_of": "one_of",
    "tool_error": "content",
    "content": "content",
    **{key: key for key in THEN_KEYS},
    "failed": "content",  # alone; otherwise it follows a text
    "faults": "delivery",  # alone: they change later rules' answers; otherwise this one's
    "timing": "delivery",  # likewise
}

_SENT = frozenset(("timing", "faults"))
_REPLY = _SENT | {"usage", "model", "headers", "system_fingerprint"}
_ENDING = frozenset(("finish", "content_filter", "annotate"))
_BESIDE_CALLS = frozenset(("progress", "log", "ask"))  # of MCP
# The keys that may go with each kind of answer.
BESIDE: Mapping[str, frozenset[str]] = {
    "content": _REPLY
    | _ENDING
    | _BESIDE_CALLS
    | {"reasoning", "citations", "annotations", "logprobs", "chunks", "failed"},
    "parts": _REPLY | _ENDING | {"citations", "annotations", "logprobs", "chunks", "failed"},
    "choices": _REPLY | {"annotate"},
    "error": _SENT | {"retry_after", "headers", "progress", "log"},
    "content_filter": _SENT | {"annotate", "headers"},
    "generate": _REPLY | _ENDING | _BESIDE_CALLS | {"chunks", "failed"},
    "echo": _REPLY | _ENDING | _BESIDE_CALLS | {"chunks", "failed"},
    "raw": _SENT,
    "cassette": _SENT,
    "forward": frozenset(),
    "delivery": _SENT,
    "steps": frozenset(),
    "one_of": frozenset(),
    **{key: kind.beside for key, kind in THEN_KEYS.items()},
}

_HINTS: Mapping[str, str] = {"content_filter": ", or write on: completion"}
_ADVICE: Mapping[tuple[str, str], str] = {
    ("parts", "reasoning"): "; put {reasoning: ...} into the list",
    ("raw", "headers"): '; put it into "raw"',
    ("cassette", "headers"): "; an episode is replayed unchanged",
    ("forward", ""): "; the provider's answer is sent unchanged",
    ("choices", "failed"): "; all choices break off together, so use a single text",
    ("delivery", ""): "; add generate: auto",
    ("choices", ""): "; put it into each choice",
    ("steps", ""): "; put it into each step",
    ("one_of", ""): '; put it into the "then" of each branch',
}


class _Purpose(Struct, frozen=True):
    """What one answer of a rule is for, a key of _PURPOSES, with the path of the key that decides this."""

    name: str
    path: Path


def is_for_mcp(when: Condition) -> bool:
    """Return whether a condition can hold for requests to MCP servers only, by the fields that it names."""
    return not _MCP_FIELDS.isdisjoint(field.partition(".")[0] for field in when.uses)


class AnswerCheck:
    """Checks whether the answer of a rule suits the requests that its condition selects."""

    def __init__(self, when: Condition, then: ThenSpec, context: CompileContext) -> None:
        self._when = when
        self._then = then
        self._context = context
        self._purposes = list(_find_purposes(then))
        self._names_operation = "operation" in when.uses
        self._names_path = "path" in when.uses
        self._names_mcp = is_for_mcp(when)

    @property
    def is_stub(self) -> bool:
        """Return whether the rule may answer paths that no dialect knows: it names a path and needs no dialect."""
        answers = (inner for _, inner in self._then.walk() if not inner.steps and not inner.one_of)
        return self._names_path and all(_STUBS.issuperset(_select_keys(inner, OUTCOMES)) for inner in answers)

    def restrict_when(self) -> Condition:
        """Return the condition; if it names no operation or path, restrict it to operations that the answer suits."""
        if self._names_operation or self._names_path:
            return self._when
        if stated := self._find_statuses():
            path, named = stated
            made = tuple([name for name in _PURPOSES[STATUS.key] if named <= set(CREATIONS[name].statuses)])
            if not made:
                self._context.at("then", *path).refuse_key(f"no object has the statuses {', '.join(sorted(named))}")
            return All((self._when, _make_operations_condition(made)))
        names = {purpose.name for purpose in self._purposes}
        if self._names_mcp or find_pinned(self._when, "dialect") == frozenset(("mcp",)):
            names = {"mcp"}
        return All((self._when, _IMPLIED[names.pop() if len(names) == 1 else "text"]))

    def check_operations(self) -> None:
        """Check that the rule can answer the operations that its condition names, or by default the usual ones."""
        operations = sorted(map(str, self._find_operations()))
        if not operations:
            return
        for purpose in self._purposes:
            is_body = purpose.path[-1] == "json"  # the whole body, where an operation takes no text
            other = next((name for name in operations if not (is_body or _suits(purpose.name, name))), None)
            if other is not None:
                able = f"use it for {', '.join(_PURPOSES[purpose.name])}{_advise(other)}"
                self._context.at("then", *purpose.path).refuse_key(
                    f'"{purpose.path[-1]}" cannot answer the operation "{other}"; {able}'
                )
        if WEBSOCKET in operations:
            for path, content in self._then.walk():
                for key in _select_keys(content, _OPENING):
                    self._context.at("then", *path, key).refuse_key(
                        f'"{key}" cannot answer the operation "{WEBSOCKET}"{_advise(WEBSOCKET)}'
                    )
        if stated := self._find_statuses():
            path, named = stated
            for kind in [CREATIONS[name] for name in operations if name in CREATIONS]:
                if kind.statuses and (odd := sorted(named - set(kind.statuses))):
                    self._context.at("then", *path).refuse_key(
                        f'an object of "{kind.name}" is never {odd[0]}; its statuses are {", ".join(kind.statuses)}'
                    )
        for path, content in self._then.walk():
            for key in _select_keys(content, _WITHHELD):
                if all(_withholds(name, key) for name in operations) and not self._is_chat_item(key, operations):
                    able = ", ".join(name for name in CONVERSATIONS if not _withholds(name, key))
                    hint = _advise(operations[0]) or f"; {able} can"
                    self._context.at("then", *path, key).refuse_key(
                        f'the operation "{operations[0]}" cannot send "{key}"{hint}'
                    )

    def check_features(self, known: Known) -> None:
        """Check that each dialect that the condition names has the features that the answer needs."""
        named = (find_pinned(self._when, "dialect") if "dialect" in self._when.uses else None) or ()
        dialects = [dialect for dialect in known if dialect in named]
        for path, feature in _find_features(self._then) if dialects else ():
            lacking = next((dialect for dialect in dialects if feature not in known[dialect]), None)
            if lacking is not None:
                able = [dialect for dialect in known if feature in known[dialect]]
                hint = f"; {', '.join(able)} can" if able else ""
                self._context.at("then", *path).refuse_key(
                    f'"when" requires the dialect "{lacking}", which cannot send {WORDS[feature]}{hint}'
                )

    def _find_statuses(self) -> tuple[Path, set[str]] | None:
        """Return the statuses of a new object that the rule states, and where it does."""
        stated = [(path, content.status) for path, content in self._then.walk() if content.status is not None]
        named = {name for _, one in stated for name in ((one,) if isinstance(one, str) else one)}
        return ((*stated[0][0], STATUS.key), named) if stated else None

    def _find_operations(self) -> Collection[Json]:
        if self._names_operation:
            return find_pinned(self._when, "operation") or ()
        if self._names_mcp:
            asked = [name for field, name in TARGETS.items() if field in self._when.uses]
            return asked or SERVED
        several = len({purpose.name for purpose in self._purposes}) > 1
        return CONVERSATIONS if several and not self._names_path else ()

    def _is_chat_item(self, key: str, operations: Collection[str]) -> bool:
        """Return whether a dialect that the rule may answer has items in chats, as Anthropic has blocks in messages."""
        dialects = find_pinned(self._when, "dialect") or ("anthropic",)
        is_chat = key == "items" and "chat" in operations
        return is_chat and any(find_format(str(name), "chat") == "messages" for name in dialects)


def _find_purposes(then: ThenSpec) -> Iterator[_Purpose]:
    for path, content in then.walk():
        given = _select_keys(content, MCP_ANSWER_KEYS) or _select_keys(content, _PURPOSE_OF)
        if len({_PURPOSE_OF[key] for key in given}) == 1:  # two answers are reported elsewhere
            yield _Purpose(_PURPOSE_OF[given[0]], (*path, given[0]))


def _select_keys(content: ContentSpec, wanted: Container[str]) -> list[str]:
    return [key for key in content.stated_keys if key in wanted]


def explain_misfit(outcome: RuleOutcome, call: Call) -> str | None:
    """Return why an outcome cannot answer a call, or None if it can."""
    if type(outcome) is Draft:  # isinstance takes far longer for a Struct
        purpose = "text"
    elif type(outcome) is ArtifactDraft:
        purpose = outcome.key
    else:
        return None
    if _suits(purpose, call.operation):
        return None
    return f'this rule answers with {_WORDS[purpose]}, which cannot answer the operation "{call.operation}"'


def _suits(purpose: str, operation: str) -> bool:
    if purpose != "text":
        return operation in _PURPOSES[purpose]
    return operation not in OPERATIONS or OPERATIONS[operation].takes_text


def _advise(operation: str) -> str:
    return OPERATIONS[operation].advice if operation in OPERATIONS else ""


def _withholds(operation: str, key: str) -> bool:
    return operation in OPERATIONS and key in OPERATIONS[operation].withheld


def _make_operations_condition(operations: tuple[str, ...]) -> Condition:
    wanted: Json = {"operation": {"in": list(operations)}}
    return mark_implied(compile_when(wanted, lambda message, path: None))


_OPENING = ("json", "forward", "cassette")  # what would open a WebSocket somehow
_STUBS = _SENT | {"json", "raw", "error"}
_PURPOSES: Mapping[str, tuple[str, ...]] = {
    "text": tuple(CONVERSATIONS),
    "mcp": SERVED,
    **{key: list_answered(key) for key in THEN_KEYS},
}
_WORDS: Mapping[str, str] = {"text": "text", **{key: kind.states for key, kind in THEN_KEYS.items()}}
_PURPOSE_OF: Mapping[str, str] = {
    **{key: "text" for key, kind in OUTCOMES.items() if kind in ("content", "parts", "choices", "generate", "echo")},
    **dict.fromkeys(MCP_ANSWER_KEYS, "mcp"),
    **{key: key for key in THEN_KEYS},
}
_WITHHELD = frozenset[str]().union(*[kind.withheld for kind in OPERATIONS.values()])
_IMPLIED: Mapping[str, Condition] = {
    purpose: _make_operations_condition(
        operations if purpose == "text" else tuple([name for name in operations if name not in CONVERSATIONS])
    )
    for purpose, operations in _PURPOSES.items()
}
TARGETS = {"tool": "mcp_call", "resource": "mcp_read", "prompt_name": "mcp_prompt"}  # fields and their operations
_MCP_FIELDS = frozenset(  # fields that only requests to MCP servers have
    ("mcp", "tool", "arguments", "resource", "prompt_name", "client_answer", "client_action")
)


def check_when(when: Json, context: CompileContext, known: Known, hosts: Collection[str] | None) -> None:
    """Refuse unknown dialects, unknown hosts, and paths of the control API."""
    for path, dialect in _find_texts("dialect", when, "equals", "in"):
        if "*" not in dialect and dialect not in known:
            is_host = dialect in (HOST_NAMES if hosts is None else hosts)
            hint = f'; it is a host: write "host: {dialect}"' if is_host else suggest(dialect, known)
            context.at("when", *path).refuse(f'unknown dialect "{dialect[:60]}"{hint}')
    for path, host in _find_texts("host", when, "equals", "in"):
        if hosts is not None and "*" not in host and host not in hosts:
            hint = f'; it is a dialect: write "dialect: {host}"' if host in known else suggest(host, hosts)
            context.at("when", *path).refuse(f'unknown host "{host[:60]}"{hint}')
    for path, text in _find_texts("path", when, "equals", "in", "glob", "starts_with", "regex"):
        if f"/{text.lstrip('^/')}".startswith(CONTROL):
            context.at("when", *path).refuse(
                f"rules cannot answer paths below {CONTROL}: they belong to the control API"
            )


def _find_texts(field: str, when: Json, *predicates: str) -> Iterator[tuple[Path, str]]:
    """Yield the texts that a table compares with a field, each with its place."""
    for key, value in when.items() if isinstance(when, Mapping) else ():
        if key in ("any", "all") and isinstance(value, list):
            for at, table in enumerate(value):
                yield from (((key, at, *path), text) for path, text in _find_texts(field, table, *predicates))
        elif key == "not" and field in ("dialect", "host"):
            yield from ((("not", *path), text) for path, text in _find_texts(field, value, *predicates))
        elif key == field:
            yield from (((field, *path), text) for path, text in _find_stated_texts(value, predicates))


def _find_stated_texts(value: Json, predicates: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    match value:
        case str():
            yield (), value
        case list():
            yield from (((at,), text) for at, text in enumerate(value) if isinstance(text, str))
        case Mapping():
            for name in predicates:
                yield from (((name, *path), text) for path, text in _find_stated_texts(value.get(name), ()))


def _find_features(then: ThenSpec) -> Iterator[tuple[Path, str]]:
    for path, inner in then.walk():
        yield from _find_used_features(inner, path)
        for at, choice in enumerate(inner.choices or ()):
            yield from _find_used_features(choice, (*path, "choices", at))


def _find_used_features(content: ContentSpec, path: Path) -> Iterator[tuple[Path, str]]:
    for key, feature in FEATURE_OF.items():
        if getattr(content, key, None) is not None:
            yield (*path, key), feature
    if content.finish == "error":
        yield (*path, "finish"), "finish_error"
    for at, part in enumerate(content.parts or ()):
        if part.refusal is not None:
            yield (*path, "parts", at, "refusal"), "refusal"
        if part.item is not None:
            yield (*path, "parts", at, "item"), "items"
        if part.tool_call is not None and part.tool_call.input is not None:
            yield (*path, "parts", at, "tool_call", "input"), "custom_tools"
        if part.tool_call is not None and isinstance(part.chunks, list):
            yield (*path, "parts", at, "chunks"), "call_pieces"
    if content.tool_calls and isinstance(content.chunks, list):
        yield (*path, "chunks"), "call_pieces"
    for at, call in enumerate(content.tool_calls or ()):
        if call.input is not None:
            yield (*path, "tool_calls", at, "input"), "custom_tools"


# How messages name what a dialect without the feature cannot send.
WORDS: Mapping[str, str] = {
    "content_filter": "filtered content",
    "filter_annotations": "filter severities",
    "finish_error": "the finish reason error",
    "refusal": "a refusal",
    "annotations": "annotations",
    "custom_tools": "calls of custom tools",
    "call_pieces": "a tool call in pieces",
    "items": "response items",
    "failed": "an answer that breaks off",
    **{kind.then.key: kind.name for kind in ARTIFACTS.values()},
    "status": "statuses of objects",
}

_NOT_KEYS = ("custom_tools", "call_pieces", "filter_annotations", "finish_error")
# Keys of an answer that need a feature of the dialect, with the same name except two.
FEATURE_OF: Mapping[str, str] = {
    **{name: name for name in WORDS if name not in _NOT_KEYS},
    "annotate": "filter_annotations",
    "citations": "annotations",
}
