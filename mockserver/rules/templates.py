"""Templates in rules: compiled when the rules are loaded, rendered for each call, sandboxed.

Data from a client is only ever a value here, never a template. A CompileContext is the place of a text in a rule.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct, field
from pydantic_core import PydanticSerializationError, to_json

from mockserver.config.source import Mistakes, Path
from mockserver.config.timing import PROFILES, Profiles
from mockserver.core.action import Faults
from mockserver.core.draft import RenderContext
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import Failure, blame_rule
from mockserver.core.text import is_unicode
from mockserver.rules.template_checks import AS_IT_IS, TemplateChecker
from mockserver.rules.template_variables import CALL, CONTEXT, KINDS, Fake, make_plain, render_value

if TYPE_CHECKING:
    from minijinja import Environment, TemplateError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


class Compiled(Struct, Generic[T], frozen=True):
    """Makes a value for each call; `known` is the value if it is the same for every call."""

    make: Callable[[RenderContext], T]
    known: tuple[T, ...] = ()

    def map(self, build: Callable[[T], U]) -> "Compiled[U]":
        if self.known:
            return make_constant(build(self.known[0]))
        make = self.make
        return Compiled(lambda scope: build(make(scope)))


def make_constant(value: T) -> Compiled[T]:
    return Compiled(lambda _: value, (value,))


def combine(one: Compiled[T], other: Compiled[U], build: Callable[[T, U], V]) -> Compiled[V]:
    if one.known and other.known:
        return make_constant(build(one.known[0], other.known[0]))
    first = one.make
    second = other.make
    if other.known:
        value = other.known[0]
        return Compiled(lambda scope: build(first(scope), value))
    return Compiled(lambda scope: build(first(scope), second(scope)))


def gather(all_compiled: Iterable[Compiled[T]]) -> Compiled[tuple[T, ...]]:
    parts = tuple(all_compiled)
    if all(part.known for part in parts):
        return make_constant(tuple(part.known[0] for part in parts))
    makers = tuple(part.make for part in parts)
    if len(makers) == 1:
        make_only = makers[0]
        return Compiled(lambda scope: (make_only(scope),))
    return Compiled(lambda scope: tuple([make(scope) for make in makers]))


FUEL = 100_000  # instructions per rendering
MAX_INDENT = 16  # spaces per level of JSON
MAX_OUTPUT = 1_000_000  # characters
_MAX_ERROR = 200  # characters of an error message

Where = Callable[[int], str]  # maps a line of the text (from 1) to file and line


class CompileContext(Struct, frozen=True):
    """A path into a rules file.

    `groups` are the named groups of the rule's regular expressions; None: unknown, as its `when` has mistakes.
    `faults` are those of delivery, by name; `profiles` are the named timings; None accepts any name. `files` collects
    the files beside the rules that the rule names.
    """

    mistakes: Mistakes
    templates: "Templates"
    rule: str
    path: Path = ()
    depth: int = 2  # of the rule in its file: `rules`, and its number
    groups: frozenset[str] | None = frozenset()
    profiles: Profiles | None = field(default_factory=lambda: PROFILES)
    faults: Faults = {}
    files: list[bytes] = field(default_factory=list)

    def at(self, *steps: str | int) -> "CompileContext":
        """Return the context below this one. Rules make many of them, and `replace` is three times slower."""
        path = (*self.path, *steps)
        return CompileContext(
            self.mistakes,
            self.templates,
            rule=self.rule,
            path=path,
            depth=self.depth,
            groups=self.groups,
            profiles=self.profiles,
            faults=self.faults,
            files=self.files,
        )

    def read_file(self, name: str) -> bytes:
        """Return the bytes of a file beside the rules. Raises ValueError that says why not."""
        data = self.mistakes.document.read_beside(name)
        self.files.append(data)
        return data

    @property
    def label(self) -> str:
        """Return the path inside the rule: the label of its random streams, which does not change if the rule moves."""
        return "/".join(map(str, self.path[self.depth :]))

    @property
    def inside(self) -> str:
        """Return the path inside `then` as reports show it: `one_of[0].steps[2]`."""
        steps = [step for step in self.path[self.depth + 1 :] if step != "then"]
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")

    def compile_text(self, source: str) -> Compiled[str]:
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
        self.mistakes.add_place(message, self.mistakes.document.find_line(self.path, line))

    def make_locator(self) -> Where:
        """Return a function that maps lines of the text here to file and line, without keeping the document."""
        document = self.mistakes.document
        start = document.find_place(self.path)
        first = document.find_line(self.path, 1)
        if start is None or first is None:
            known_as = f"{document.file} {self.rule}"
            return lambda _: known_as
        file = start.file
        at = first.line
        is_block = first.line > start.line
        return lambda line: f"{file}:{at + line - 1 if is_block else at}"


class Templates:
    """The templates of rules files, in one environment."""

    def __init__(self) -> None:
        self._count = 0

    @cached_property
    def _environment(self) -> "Environment":
        return _make_environment()  # made when first needed: most rules have no templates

    @cached_property
    def _checker(self) -> TemplateChecker:
        return TemplateChecker(self._environment)

    def compile(self, source: str, context: CompileContext) -> Compiled[str]:
        """Compile a text that may be a template; report mistakes to the context."""
        if not is_template(source):
            return make_constant(source)
        from minijinja import TemplateError  # only templates need it, and most rules have none

        self._count += 1
        name = f"t{self._count}"
        try:
            self._environment.add_template(name, source)
            variables = self._environment.undeclared_variables_in_template(name, nested=True)
        except TemplateError as error:
            context.refuse_line(f"invalid template: {_describe_error(error)}; {AS_IT_IS}", error.line or 1)
            return make_constant(source)
        except UnicodeEncodeError:
            context.refuse_line("this template contains half of a character (a lone surrogate)", 1)
            return make_constant(source)
        mistakes = list(self._checker.find_mistakes(source, variables, context.groups))
        for mistake, line in mistakes:
            context.refuse_line(mistake, line)
        if mistakes:
            return make_constant(source)
        render = self._make_renderer(name, variables, context, source)
        return Compiled(_join_names(source, render) or render)

    def _make_renderer(
        self, name: str, variables: Iterable[str], context: CompileContext, source: str
    ) -> Callable[[RenderContext], str]:
        roots = {variable.partition(".")[0] for variable in variables}
        reads = tuple((root, CONTEXT[root]) for root in sorted(roots & CONTEXT.keys()))
        labels = (context.rule, context.label) if "fake" in roots else ()
        render = self._environment.render_template
        where = context.make_locator()

        def make(scope: RenderContext) -> str:
            values = {root: make_plain(value) for root, read in reads if (value := read(scope)) is not None}
            if labels:
                values["fake"] = Fake(scope, labels)
            return _render(lambda: render(name, **values), where, source)

        return make


def _join_names(source: str, render: Callable[[RenderContext], str]) -> Callable[[RenderContext], str] | None:
    """Return a function that joins a template's texts and values if all its tags are plain names; else None.

    Values that it cannot join exactly like minijinja are left to `render`, which also words the errors.
    """
    texts = _NAME_TAG.split(source)
    names = texts[1::2]
    if any(map(is_template, texts[::2])) or len(source) + len(names) > _LONGEST_JOINED:
        return None
    readers = [_find_reader(name) for name in names]
    reads = [read for read in readers if read is not None]
    if len(reads) < len(names):
        return None
    form = "%s".join([text.replace("%", "%%") for text in texts[::2]])

    def join(scope: RenderContext) -> str:
        try:
            text = form % tuple([read(scope) for read in reads])
        except KeyError:  # a group outside the match
            return render(scope)
        return text if len(text) <= MAX_OUTPUT and is_unicode(text) else render(scope)

    return join


def _find_reader(name: str) -> Callable[[RenderContext], str] | None:
    """Return a function that reads the value of a name as shown, if every call has it and it is not a list or table."""
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
    return lambda scope: render_value(read(scope.call))


_NAME_TAG = compile_lazily(r"\{\{ *([a-z_]+(?:\.[A-Za-z_][A-Za-z_0-9]*)?) *\}\}")
_LONGEST_JOINED = 10_000  # characters and tags, far from the limits on rendering


def is_template(source: str) -> bool:
    return "{{" in source or "{%" in source or "{#" in source


def _make_environment() -> "Environment":
    from minijinja import Environment

    environment = Environment(
        fuel=FUEL,
        undefined_behavior="strict",
        keep_trailing_newline=True,
        auto_escape_callback=lambda _: False,
        finalizer=lambda value: value if type(value) is str else render_value(value),
    )
    environment.remove_global("debug")  # prints the whole context
    environment.remove_global("namespace")  # allows text that doubles in a loop
    for name in ("batch", "format", "indent", "slice"):  # they allow sizes of 2,000,000,000
        environment.remove_filter(name)
    environment.add_filter("replace", _replace)
    environment.add_filter("tojson", _tojson)
    return environment


def _replace(text: str, old: str = "", new: str = "") -> str:
    """Replace text, with a result of at most MAX_OUTPUT: both arguments may come from the client."""
    if len(text) + text.count(old) * len(new) > MAX_OUTPUT:
        raise ValueError(f"the result of replace is longer than {MAX_OUTPUT:,} characters")
    return text.replace(old, new)


def _tojson(value: Json, indent: int | bool | None = None) -> Json:
    """Render JSON like minijinja, with a bounded indent."""
    if indent is not None and not (isinstance(indent, int) and 0 <= indent <= MAX_INDENT):
        raise ValueError(f"tojson accepts an indent of 0 to {MAX_INDENT}")
    from minijinja import Environment

    return Environment().eval_expr("value|tojson(indent)", value=value, indent=indent)


def _render(render: Callable[[], str], where: Where, source: str) -> str:
    try:
        text = render()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # minijinja's panics are not Exceptions
        from minijinja import TemplateError

        if isinstance(error, TemplateError):
            why = _describe_error(error)
            raise _make_failure(where(error.line or 1), why + _suggest_default(why, source)) from None
        raise _make_failure(where(1), _shorten(str(error))) from None
    if len(text) > MAX_OUTPUT:
        raise _make_failure(where(1), f"its output is longer than {MAX_OUTPUT:,} characters")
    return text


def _make_failure(where: str, why: str) -> Failure:
    return blame_rule(f"{where}: the template of this rule failed: {why}")


def _suggest_default(why: str, source: str) -> str:
    """Return what to write instead, if a template failed for a value that is undefined."""
    found = _UNDEFINED.search(why)
    if found is None:
        return ""
    name = found[1]
    after = re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)((?:\.\w+|\[[^\]]*\])*)(\(?)", source)
    if after is None:
        return ""
    steps = _STEP.findall(after[1])
    if len(steps) > 1 or after[2]:
        return f"; if a request may lack it, ask before: {{% if {name} is defined %}}"
    safe = f"({name} | default({{}})){after[1]}" if steps else name
    return f"; if a request may lack it, write {safe} | default('...')"


_UNDEFINED = compile_lazily(r"`([^`]+)` is undefined")
_STEP = compile_lazily(r"\.\w+|\[[^\]]*\]")


def _describe_error(error: "TemplateError") -> str:
    return _shorten(_WORDS.get(error.kind) or error.detail or error.message.partition("\n")[0])


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_ERROR else text[:_MAX_ERROR] + "…"


_WORDS = {"OutOfFuel": f"it takes more than {FUEL:,} steps"}


def compile_json_text(value: Json, context: CompileContext) -> Compiled[str]:
    encode_json(value, context)
    return compile_json(value, context).map(lambda made: to_json(made).decode())


def compile_json(value: Json, context: CompileContext) -> Compiled[Json]:
    """Compile a value with its texts rendered; a rendered text stays a text."""
    match value:
        case str():
            return context.compile_text(value)
        case Mapping():
            names = tuple(map(str, value))
            inner = gather(compile_json(item, context.at(str(name))) for name, item in value.items())
            return inner.map(lambda made: dict(zip(names, made, strict=True)))
        case list() | tuple():
            return gather(compile_json(item, context.at(index)) for index, item in enumerate(value)).map(list)
        case float() if not math.isfinite(value):
            context.refuse("JSON has no such number; write null or a string")
            return make_constant(None)
    return make_constant(value)


def encode_json(value: Json, context: CompileContext) -> bytes:
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError) as error:
        context.refuse(f"this cannot be sent as JSON: {str(error)[:80]}")
        return b"null"
