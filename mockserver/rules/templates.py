"""Templates in rules: compiled when the rules are loaded, rendered for each call, sandboxed.

What a client sends is only ever a value here, never a template. A CompileContext is where in a rule a text is.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache, cached_property
from types import NoneType
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct, field
from pydantic_core import PydanticSerializationError, to_json

from mockserver.config.source import Mistakes, Path, did_you_mean, suggestion
from mockserver.config.timing import PROFILES, Profiles
from mockserver.core.action import Faults
from mockserver.core.call import Call, Message, last_tool_result, tool_results
from mockserver.core.draft import RenderContext
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.core.text import is_unicode
from mockserver.model.fillers import drawing, generator
from mockserver.rules.template_calls import SAMPLES, CallCheck, find_calls

if TYPE_CHECKING:
    from minijinja import Environment, TemplateError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


class Compiled(Struct, Generic[T], frozen=True):
    """Makes a value for each call; `known` holds the value if it is the same for every call."""

    make: Callable[[RenderContext], T]
    known: tuple[T, ...] = ()

    def into(self, build: Callable[[T], U]) -> "Compiled[U]":
        if self.known:
            return constant(build(self.known[0]))
        make = self.make
        return Compiled(lambda scope: build(make(scope)))


def constant(value: T) -> Compiled[T]:
    return Compiled(lambda _: value, (value,))


def combined(one: Compiled[T], other: Compiled[U], build: Callable[[T, U], V]) -> Compiled[V]:
    if one.known and other.known:
        return constant(build(one.known[0], other.known[0]))
    first, second = one.make, other.make
    if other.known:
        value = other.known[0]
        return Compiled(lambda scope: build(first(scope), value))
    return Compiled(lambda scope: build(first(scope), second(scope)))


def gathered(all_compiled: Iterable[Compiled[T]]) -> Compiled[tuple[T, ...]]:
    parts = tuple(all_compiled)
    if all(part.known for part in parts):
        return constant(tuple(part.known[0] for part in parts))
    makers = tuple(part.make for part in parts)
    if len(makers) == 1:
        make_only = makers[0]
        return Compiled(lambda scope: (make_only(scope),))
    return Compiled(lambda scope: tuple([make(scope) for make in makers]))


class JsonObject(Mapping[str, Json]):
    """A read-only view of a table and its values; renders as JSON."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Json]) -> None:
        self._table = table

    def __getitem__(self, key: str) -> Json:
        return plain(self._table[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __str__(self) -> str:
        return to_json(self._table).decode()


def plain(value: Json) -> Json:
    match value:
        case str() | None | bool() | int() | float() | JsonObject():
            return value
        case Mapping():
            return JsonObject(value)
        case Sequence():
            return tuple(map(plain, value))
    return str(value)


def shown(value: Json) -> str:
    """Return a value as it is rendered: text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return to_json(value, fallback=_bare).decode()
    except PydanticSerializationError:
        raise TypeError("not a value; did you forget the () of a method call?") from None


def _bare(value: object) -> Json:
    if isinstance(value, JsonObject):
        return dict(value)
    raise TypeError


def _message(message: Message) -> Json:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return {"role": message.role, "text": message.text, "name": message.name or "", "tool_calls": calls}


def _tools(call: Call) -> Json:
    return [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in call.tools]


CALL: Mapping[str, Callable[[Call], Json]] = {
    "model": lambda call: call.model,
    "operation": lambda call: call.operation,
    "dialect": lambda call: call.dialect,
    "namespace": lambda call: call.http.namespace,
    "method": lambda call: call.http.method,
    "path": lambda call: call.http.path,
    "query": lambda call: call.http.query,
    "turn": lambda call: call.turn,
    "attempt": lambda call: call.attempt,
    "stream": lambda call: call.stream,
    "n": lambda call: call.options.n,
    "seed": lambda call: call.options.seed,
    "max_tokens": lambda call: call.options.max_tokens,
    "response_format": lambda call: call.options.response_format,
    "tool_choice": lambda call: call.tool_choice.mode,
    "prompt_tokens": lambda call: call.prompt_tokens,
}


class CallView(JsonObject):
    """The variable `call`: each value is read when a template asks for it, as some take long to work out."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __getitem__(self, name: str) -> Json:
        return plain(CALL[name](self._call))

    def __iter__(self) -> Iterator[str]:
        return iter(CALL)

    def __len__(self) -> int:
        return len(CALL)

    def __str__(self) -> str:
        return shown(self)


# The variables of a template; a variable that is None for a call is undefined.
CONTEXT: Mapping[str, Callable[[RenderContext], Json]] = {
    "match": lambda scope: scope.match,
    "call": lambda scope: CallView(scope.call),
    "last_user": lambda scope: scope.call.last_user_text or "",
    "last_message": lambda scope: "" if scope.call.last_turn is None else scope.call.last_turn.text,
    "system": lambda scope: scope.call.system,
    "messages": lambda scope: [_message(message) for message in scope.call.messages],
    "tool_result": lambda scope: last_tool_result(scope.call),
    "tool_results": lambda scope: tool_results(scope.call),
    "tools": lambda scope: _tools(scope.call),
    "body": lambda scope: scope.call.body,
}

# The keys of these variables, so that a typo is found when the rules are loaded.
MEMBERS: Mapping[str, tuple[str, ...]] = {"call": tuple(CALL), "tool_result": ("name", "text", "json")}


# The types of what is of the same types in every call.
KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("last_user", "last_message", "system", "tool_result.name", "tool_result.text"), (str,)),
    **{f"call.{name}": (str,) for name in ("model", "operation", "dialect", "namespace", "method", "path")},
    **{f"call.{name}": (int,) for name in ("turn", "attempt", "n", "prompt_tokens")},
    **{f"call.{name}": (int, NoneType) for name in ("seed", "max_tokens")},
    "call.stream": (bool,),
    "call.tool_choice": (str,),
    **dict.fromkeys(("messages", "tool_results", "tools"), (tuple,)),
}


class Fake:
    """The variable `fake` of a template: the same values for the same call, rule and position."""

    __slots__ = ("_drawn", "_labels", "_moment")

    def __init__(self, scope: RenderContext, labels: tuple[str, ...]) -> None:
        self._moment = scope
        self._labels = labels
        self._drawn: dict[str, int] = {}

    def __getitem__(self, name: str) -> Json:
        provider = providers()[name]
        occurrence = self._drawn[name] = self._drawn.get(name, 0) + 1
        scope = self._moment
        with drawing(scope.seed.stream("fake", scope.call.fingerprint, *self._labels, name, str(occurrence))):
            return _plain(provider())


@cache
def providers() -> Mapping[str, Callable[[], Json]]:
    """Return every Faker provider that needs no arguments, by name."""
    source = generator()
    found = {}
    for provider in reversed(source.providers):
        for name in dir(type(provider)):
            if not name.startswith(_HIDDEN_PREFIXES) and name not in _HIDDEN and callable(getattr(provider, name)):
                found[name] = getattr(source, name)
    return found


def _plain(value: object) -> Json:
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Iterable():
            return tuple(map(_plain, value))
    return str(value)


_HIDDEN_PREFIXES = ("_", "py", "get_", "random_", "randomize_", "add_", "seed")
_HIDDEN = frozenset((
    *("generator", "enum", "bothify", "hexify", "lexify", "numerify", "locale", "language_code", "current_country"),
    *("binary", "csv", "dsv", "fixed_width", "image", "json", "json_bytes", "psv", "tar", "tsv", "xml", "zip"),
    *("passport_dates", "passport_full", "passport_gender", "profile", "simple_profile", "time_series", "time_delta"),
    *("color", "color_hsl", "color_hsv", "color_rgb", "color_rgb_float"),  # draw from their own random generator
    *("uuid1", "uuid7", "timezone_object"),
))  # fmt: skip


FUEL = 100_000  # instructions per rendering
MAX_INDENT = 16  # spaces per level of JSON
MAX_OUTPUT = 1_000_000  # characters
_LONGEST = 200  # characters of an error message

Where = Callable[[int], str]  # maps a line of the text (from 1) to file and line


class CompileContext(Struct, frozen=True):
    """A path into a rules file. `groups` are the named groups of the rule's regular expressions.

    `faults` are those of delivery, by name; `profiles` the timings that have names, None: any name will do.
    """

    mistakes: Mistakes
    templates: "Templates"
    rule: str
    path: Path = ()
    groups: frozenset[str] = frozenset()
    profiles: Profiles | None = field(default_factory=lambda: PROFILES)
    faults: Faults = {}

    def at(self, *steps: str | int) -> "CompileContext":
        """Return the context below this one. Rules make many of them, and `replace` is three times slower."""
        path = (*self.path, *steps)
        return CompileContext(self.mistakes, self.templates, self.rule, path, self.groups, self.profiles, self.faults)

    @property
    def label(self) -> str:
        """Return the path inside the rule: the label of its random streams, which moving the rule does not change."""
        return "/".join(map(str, self.path[2:]))

    @property
    def inside(self) -> str:
        """Return the path inside `then` as reports show it: `one_of[0].steps[2]`."""
        steps = [step for step in self.path[3:] if step != "then"]
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")

    def text(self, source: str) -> Compiled[str]:
        return self.templates.compile(source, self)

    def add(self, message: str, below: Path = (), *, key: bool = False) -> None:
        self.mistakes.add(message, (*self.path, *below), key=key)

    def refuse(self, message: str) -> None:
        self.mistakes.add(message, self.path)

    def refuse_key(self, message: str) -> None:
        self.mistakes.add(message, self.path, key=True)

    def refuse_template(self, text: str) -> None:
        if is_template(text):
            self.refuse("templates are not supported here: this is sent unchanged")

    def refuse_line(self, message: str, line: int) -> None:
        """Report a mistake in one line (from 1) of the text at this position."""
        self.mistakes.add_place(message, self.mistakes.document.inside(self.path, line))

    def where(self) -> Where:
        """Return a function that maps lines of the text here to file and line, without keeping the document."""
        document = self.mistakes.document
        start, first = document.place(self.path), document.inside(self.path, 1)
        if start is None or first is None:
            known_as = f"{document.file} {self.rule}"
            return lambda _: known_as
        file, at, is_block = start.file, first.line, first.line > start.line
        return lambda line: f"{file}:{at + line - 1 if is_block else at}"


class Templates:
    def __init__(self) -> None:
        self._count = 0

    @cached_property
    def _environment(self) -> "Environment":
        return _environment()  # made when first needed: most rules have no templates

    @cached_property
    def _check(self) -> CallCheck:
        return CallCheck(self._environment, tuple(map(plain, SAMPLES)))

    def compile(self, source: str, context: "CompileContext") -> Compiled[str]:
        if not is_template(source):
            return constant(source)
        from minijinja import TemplateError  # only templates need it, and most rules have none

        self._count += 1
        name = f"t{self._count}"
        try:
            self._environment.add_template(name, source)
            variables = self._environment.undeclared_variables_in_template(name, nested=True)
        except TemplateError as error:
            context.refuse_line(f"this template cannot be read: {_detail(error)}", error.line or 1)
            return constant(source)
        except UnicodeEncodeError:
            context.refuse_line("this template holds half of a character (a lone surrogate)", 1)
            return constant(source)
        complaints = list(self._complaints(source, variables, context))
        for complaint, culprit in complaints:
            context.refuse_line(complaint, _line_of(culprit, source))
        failures = list(self._failing_calls(source))
        for failure, line in failures:
            context.refuse_line(failure, line)
        return constant(source) if complaints or failures else self._compiled(source, name, variables, context)

    def _compiled(self, source: str, name: str, variables: Iterable[str], context: "CompileContext") -> Compiled[str]:
        roots = {variable.partition(".")[0] for variable in variables}
        reads = tuple((root, CONTEXT[root]) for root in sorted(roots & CONTEXT.keys()))
        labels = (context.rule, context.label) if "fake" in roots else ()
        render = self._environment.render_template
        where = context.where()

        def make(scope: RenderContext) -> str:
            values = {root: plain(value) for root, read in reads if (value := read(scope)) is not None}
            if labels:
                values["fake"] = Fake(scope, labels)
            return _rendered(lambda: render(name, **values), where)

        return Compiled(_joined(source, make) or make)

    def _complaints(
        self, source: str, variables: Iterable[str], context: "CompileContext"
    ) -> Iterator[tuple[str, str]]:
        """Yield what compiles but would fail on every call, and the word that causes it."""
        for variable in sorted(variables):
            root, _, member = variable.partition(".")
            member = member.partition(".")[0]
            if root == "fake" and member and member not in providers():
                yield f'there is no "fake.{member}"{did_you_mean(member, providers())}', variable
            elif root == "match" and member and member not in context.groups:
                yield _no_group(member, context.groups), variable
            elif root in MEMBERS and member and member not in MEMBERS[root]:
                yield f'"{root}" has no "{member}"{suggestion(member, MEMBERS[root])}', variable
            elif root not in VARIABLES and root not in self._environment.globals:
                yield f'there is no "{root}" in templates{suggestion(root, VARIABLES)}', root
        yield from self._slips(_INERT.sub("", source))

    def _failing_calls(self, source: str) -> Iterator[tuple[str, int]]:
        """Yield why calls in a template fail whatever a request brings, and the line of each."""
        code = _INERT.sub(lambda found: _LETTER.sub(" ", found[0]), source)  # lines stay where they are
        for call in find_calls(code):
            if call.kind == "function" and call.name not in self._environment.globals:
                continue
            root, _, member = call.subject.partition(".")
            kinds = KINDS.get(call.subject) or ((str,) if root == "match" and member else ())
            if (failure := self._check.explain_failure(call, kinds)) is not None:
                yield failure, code.count("\n", 0, call.offset) + 1

    def _slips(self, source: str) -> Iterator[tuple[str, str]]:
        """Do the same for names other than variables; comments and raw blocks are already removed."""
        code = " ".join(_QUOTED.sub('""', part) for part in _CODE.findall(source))
        for name in dict.fromkeys(_FILTER.findall(code)):
            if self._lacks(f"''|{name}", "UnknownFilter"):
                yield f'there is no filter "{name}" in templates', name
        for name in dict.fromkeys(_TEST.findall(code)):
            if self._lacks(f"'' is {name}", "UnknownTest"):
                yield f'there is no test "{name}" in templates', name
        for name in dict.fromkeys(_UNBOUNDED.findall(code)):
            instead = "use the filter replace" if name == "replace" else "join texts with ~"
            yield f'there is no method "{name}" in templates; {instead}', name
        for tag in dict.fromkeys(_LOADS.findall(source)):
            yield f'"{tag}" has nothing to load: every template stands alone', tag
        for call in dict.fromkeys(_FAKE_CALL.findall(code)):
            yield f'"{call}" is a value, not a function; leave out the parentheses', call

    def _lacks(self, expression: str, kind: str) -> bool:
        from minijinja import TemplateError

        try:
            self._environment.eval_expr(expression)
        except TemplateError as error:
            return error.kind == kind
        return False


def _joined(source: str, render: Callable[[RenderContext], str]) -> Callable[[RenderContext], str] | None:
    """Return what joins the texts of a template and its values, if all its tags are plain names; None: others are.

    What it cannot join as minijinja does is left to `render`, which also has the words for what fails.
    """
    texts = _NAME_TAG.split(source)
    names = texts[1::2]
    if any(map(is_template, texts[::2])) or len(source) + len(names) > _LONGEST_JOINED:
        return None
    found = [_hole(name) for name in names]
    reads = [read for read in found if read is not None]
    if len(reads) < len(names):
        return None

    def join(scope: RenderContext) -> str:
        made = texts.copy()
        try:
            made[1::2] = [read(scope) for read in reads]
        except KeyError:  # a group that took no part in the match
            return render(scope)
        text = "".join(made)
        return text if len(text) <= MAX_OUTPUT and is_unicode(text) else render(scope)

    return join


def _hole(name: str) -> Callable[[RenderContext], str] | None:
    """Return what reads the value of a name as it is shown, if every call has it and it is no list or table."""
    root, _, member = name.partition(".")
    if root == "match" and member:
        return lambda scope: scope.match[member]
    if name in ("last_user", "last_message", "system"):
        return CONTEXT[name]
    read = CALL.get(member) if root == "call" else None
    if read is None or name not in KINDS:
        return None
    if KINDS[name] == (str,):
        return lambda scope: read(scope.call)
    return lambda scope: shown(read(scope.call))


_NAME_TAG = lazy_pattern(r"\{\{ *([a-z_]+(?:\.[A-Za-z_][A-Za-z_0-9]*)?) *\}\}")
_LONGEST_JOINED = 10_000  # characters and tags, far from the limits on rendering


def is_template(source: str) -> bool:
    return "{{" in source or "{%" in source or "{#" in source


def _environment() -> "Environment":
    from minijinja import Environment

    environment = Environment(
        fuel=FUEL,
        undefined_behavior="strict",
        keep_trailing_newline=True,
        auto_escape_callback=lambda _: False,
        finalizer=lambda value: value if type(value) is str else shown(value),
    )
    environment.remove_global("debug")  # prints the whole context
    environment.remove_global("namespace")  # allows text that doubles in a loop
    for name in ("batch", "format", "indent", "slice"):  # they allow sizes of 2,000,000,000
        environment.remove_filter(name)
    environment.add_filter("replace", _replace)
    environment.add_filter("tojson", _tojson)
    return environment


def _replace(text: str, old: str = "", new: str = "") -> str:
    """Replace text within MAX_OUTPUT: the client's words may be on both sides."""
    if len(text) + text.count(old) * len(new) > MAX_OUTPUT:
        raise ValueError(f"replace makes a text of more than {MAX_OUTPUT:,} characters")
    return text.replace(old, new)


def _tojson(value: Json, indent: int | bool | None = None) -> Json:
    """Render JSON as minijinja does, with a bounded indent."""
    if indent is not None and not (isinstance(indent, int) and 0 <= indent <= MAX_INDENT):
        raise ValueError(f"tojson takes an indent of 0 to {MAX_INDENT}")
    from minijinja import Environment

    return Environment().eval_expr("value|tojson(indent)", value=value, indent=indent)


def _rendered(render: Callable[[], str], where: Where) -> str:
    try:
        text = render()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # minijinja's panics are not Exceptions
        from minijinja import TemplateError

        if isinstance(error, TemplateError):
            raise _failure(where(error.line or 1), _detail(error)) from None
        raise _failure(where(1), _short(str(error))) from None
    if len(text) > MAX_OUTPUT:
        raise _failure(where(1), f"it makes a text of more than {MAX_OUTPUT:,} characters")
    return text


def _failure(where: str, why: str) -> Failure:
    return Failure("server_error", f"{where}: the template of this rule failed: {why}", status=500)


def _detail(error: "TemplateError") -> str:
    return _short(_WORDS.get(error.kind) or error.detail or error.message.partition("\n")[0])


def _line_of(culprit: str, source: str) -> int:
    found = re.search(rf"\b{re.escape(culprit)}\b", source)
    return source.count("\n", 0, found.start() if found else 0) + 1


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _no_group(name: str, groups: frozenset[str]) -> str:
    if not groups:
        return f'"match.{name}" is nothing: no regular expression of "when" has a named group, such as (?P<{name}>...)'
    return f'no regular expression of "when" has a group "{name}"{suggestion(name, sorted(groups))}'


VARIABLES = (*CONTEXT, "fake")

# Comments and raw blocks.
_INERT = lazy_pattern(r"\{#.*?#\}|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}", re.DOTALL)
_LETTER = lazy_pattern(r"[^\n]")
_CODE = lazy_pattern(r"\{[{%](.*?)[%}]\}", re.DOTALL)
_QUOTED = lazy_pattern(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'")
_FILTER = lazy_pattern(r"\|\s*([A-Za-z_]\w*)")
_TEST = lazy_pattern(r"\bis\s+(?:not\s+)?([A-Za-z_]\w*)")
_FAKE_CALL = lazy_pattern(r"\b(fake\.\w+)\(")
_UNBOUNDED = lazy_pattern(r"\.\s*(format|replace)\s*\(")  # their texts may be of any size
_LOADS = lazy_pattern(r"\{%[-+]?\s*(extends|from|import|include)\b")
_WORDS = {"OutOfFuel": f"it takes more than {FUEL:,} steps"}


def json_text(value: Json, context: CompileContext) -> Compiled[str]:
    json_bytes(value, context)
    return json_value(value, context).into(lambda made: to_json(made).decode())


def json_value(value: Json, context: CompileContext) -> Compiled[Json]:
    """Compile a value with its texts rendered; a rendered text stays a text."""
    match value:
        case str():
            return context.text(value)
        case Mapping():
            names = tuple(map(str, value))
            inner = gathered(json_value(item, context.at(str(name))) for name, item in value.items())
            return inner.into(lambda made: dict(zip(names, made, strict=True)))
        case list() | tuple():
            return gathered(json_value(item, context.at(index)) for index, item in enumerate(value)).into(list)
        case float() if not math.isfinite(value):
            context.refuse("JSON has no such number; write null or a text")
            return constant(None)
    return constant(value)


def json_bytes(value: Json, context: CompileContext) -> bytes:
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError) as error:
        context.refuse(f"this cannot be JSON: {str(error)[:80]}")
        return b"null"
