"""Text that is a template: compiled when the rules are loaded, rendered for a call, sandboxed.

What a client sends is only ever a value in here, never a template.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

from minijinja import Environment, TemplateError

from mockserver.core.call import Json
from mockserver.core.plan import Failure
from mockserver.engine.draft import Moment
from mockserver.engine.recipe import Recipe, fixed
from mockserver.engine.templates.context import CONTEXT, MEMBERS, plain, shown
from mockserver.positions import did_you_mean

FUEL = 100_000  # instructions of one rendering
MAX_INDENT = 16  # blanks for each level of JSON
MAX_OUTPUT = 1_000_000  # characters
_LONGEST = 200  # characters of an error

Where = Callable[[int], str]  # a line of the text (from 1) as a line of its file


class Origin(Protocol):
    """The place in a rule where a template stands."""

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def label(self) -> str:
        """The path of the text inside the rule."""

    @property
    def groups(self) -> frozenset[str]:
        """The named groups of the rule's regular expressions."""

    def refuse_line(self, message: str, line: int) -> None:
        """Note a mistake in a line (from 1) of the text."""

    def where(self) -> Where:
        """How the lines of the text are called."""


class Templates:
    """The templates of rules that are loaded together."""

    def __init__(self) -> None:
        self._count = 0

    @cached_property
    def _environment(self) -> Environment:
        return _environment()  # most rules have no templates, and it takes as long to make as they do

    def compile(self, source: str, origin: Origin) -> Recipe[str]:
        """The recipe for a text; whatever is wrong with it as a template is told to its origin."""
        if not is_template(source):
            return fixed(source)
        self._count += 1
        name = f"t{self._count}"
        try:
            self._environment.add_template(name, source)
            variables = self._environment.undeclared_variables_in_template(name, nested=True)
        except TemplateError as error:
            origin.refuse_line(f"this template cannot be read: {_detail(error)}", error.line or 1)
            return fixed(source)
        except UnicodeEncodeError:
            origin.refuse_line("this template holds half of a character (a lone surrogate)", 1)
            return fixed(source)
        complaints = list(self._complaints(source, variables, origin))
        for complaint, culprit in complaints:
            origin.refuse_line(complaint, _line_of(culprit, source))
        return fixed(source) if complaints else self._recipe(name, variables, origin)

    def _recipe(self, name: str, variables: Iterable[str], origin: Origin) -> Recipe[str]:
        roots = {variable.partition(".")[0] for variable in variables}
        reads = tuple((root, CONTEXT[root]) for root in sorted(roots & CONTEXT.keys()))
        labels = (origin.rule, origin.label) if "fake" in roots else ()
        render = self._environment.render_template
        where = origin.where()

        def make(moment: Moment) -> str:
            context = {root: plain(value) for root, read in reads if (value := read(moment)) is not None}
            if labels:
                context["fake"] = _fake(moment, labels)
            return _rendered(lambda: render(name, **context), where)

        return Recipe(make)

    def _complaints(self, source: str, variables: Iterable[str], origin: Origin) -> Iterator[tuple[str, str]]:
        """What compiles but must fail on every call, and the word that is to blame."""
        for variable in sorted(variables):
            root, _, member = variable.partition(".")
            member = member.partition(".")[0]
            if root == "fake" and member and member not in _fakes():
                yield f'there is no "fake.{member}"{did_you_mean(member, _fakes())}', variable
            elif root == "match" and member and member not in origin.groups:
                yield _no_group(member, origin.groups), variable
            elif root in MEMBERS and member and member not in MEMBERS[root]:
                hint = did_you_mean(member, MEMBERS[root]) or _listed(MEMBERS[root])
                yield f'"{root}" has no "{member}"{hint}', variable
            elif root not in VARIABLES and root not in self._environment.globals:
                yield f'there is no "{root}" in templates{did_you_mean(root, VARIABLES) or _listed(VARIABLES)}', root
        yield from self._slips(_INERT.sub("", source))

    def _slips(self, source: str) -> Iterator[tuple[str, str]]:
        """The same of names that are no variables; comments and raw text are no part of the source."""
        code = " ".join(_QUOTED.sub('""', part) for part in _CODE.findall(source))
        for name in dict.fromkeys(_FILTER.findall(code)):
            if self._lacks(f"''|{name}", "UnknownFilter"):
                yield f'there is no filter "{name}" in templates{did_you_mean(name, _FILTERS)}', name
        for name in dict.fromkeys(_TEST.findall(code)):
            if self._lacks(f"'' is {name}", "UnknownTest"):
                yield f'there is no test "{name}" in templates{did_you_mean(name, _TESTS)}', name
        for tag in dict.fromkeys(_LOADS.findall(source)):
            yield f'"{tag}" has nothing to load: every template stands alone', tag
        for call in dict.fromkeys(_FAKE_CALL.findall(code)):
            yield f'"{call}" is a value, not a function; leave out the parentheses', call

    def _lacks(self, expression: str, kind: str) -> bool:
        try:
            self._environment.eval_expr(expression)
        except TemplateError as error:
            return error.kind == kind
        return False


def is_template(source: str) -> bool:
    """Whether a text holds anything that a template would replace."""
    return "{{" in source or "{%" in source or "{#" in source


def _environment() -> Environment:
    environment = Environment(
        fuel=FUEL,
        undefined_behavior="strict",
        keep_trailing_newline=True,
        auto_escape_callback=lambda _: False,
        finalizer=_final,
    )
    environment.remove_global("debug")  # prints all that is known
    environment.remove_global("namespace")  # a text that doubles in a loop outgrows any machine
    environment.remove_filter("format")  # a width of 2,000,000,000 costs as much
    environment.remove_filter("indent")  # and so does an indent of as much
    environment.add_filter("replace", _replace)
    environment.add_filter("tojson", _tojson)
    return environment


def _replace(text: str, old: str = "", new: str = "") -> str:
    """`replace` within the bounds of a text: the client's words may stand on both sides."""
    if len(text) + text.count(old) * len(new) > MAX_OUTPUT:
        raise ValueError(f"replace makes a text of more than {MAX_OUTPUT:,} characters")
    return text.replace(old, new)


def _tojson(value: Json, indent: int | bool | None = None) -> Json:
    """`tojson` as the engine has it, with an indent that fits on a page."""
    if indent is not None and not 0 <= indent <= MAX_INDENT:
        raise ValueError(f"tojson takes an indent of 0 to {MAX_INDENT}")
    return Environment().eval_expr("value|tojson(indent)", value=value, indent=indent)


def _final(value: Json) -> Json:
    return value if type(value) is str else shown(value)


def _rendered(render: Callable[[], str], where: Where) -> str:
    try:
        text = render()
    except TemplateError as error:
        raise _failure(where(error.line or 1), _detail(error)) from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the engine's own panics are no Exceptions
        raise _failure(where(1), _short(str(error))) from None
    if len(text) > MAX_OUTPUT:
        raise _failure(where(1), f"it makes a text of more than {MAX_OUTPUT:,} characters")
    return text


def _failure(where: str, why: str) -> Failure:
    return Failure("server_error", f"{where}: the template of this rule failed: {why}", status=500)


def _detail(error: TemplateError) -> str:
    return _short(_WORDS.get(error.kind) or error.detail or error.message.partition("\n")[0])


def _line_of(culprit: str, source: str) -> int:
    """The line (from 1) of a text where a word stands first; the first line where it is written in another way."""
    found = re.search(rf"\b{re.escape(culprit)}\b", source)
    return source.count("\n", 0, found.start() if found else 0) + 1


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _fakes() -> Mapping[str, object]:
    from mockserver.engine.templates.fakes import providers

    return providers()


def _fake(moment: Moment, labels: tuple[str, ...]) -> object:
    from mockserver.engine.templates.fakes import Fake

    return Fake(moment, labels)


def _no_group(name: str, groups: frozenset[str]) -> str:
    if not groups:
        return f'"match.{name}" is nothing: no regular expression of "when" has a named group, such as (?P<{name}>...)'
    return (
        f'no regular expression of "when" has a group "{name}"{did_you_mean(name, groups) or _listed(sorted(groups))}'
    )


def _listed(names: Iterable[str]) -> str:
    return f"; it is one of {', '.join(names)}"


VARIABLES = (*CONTEXT, "fake")

# Comments, and what stands as it is.
_INERT = re.compile(r"\{#.*?#\}|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}", re.DOTALL)
_CODE = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'")
_FILTER = re.compile(r"\|\s*([A-Za-z_]\w*)")
_TEST = re.compile(r"\bis\s+(?:not\s+)?([A-Za-z_]\w*)")
_FAKE_CALL = re.compile(r"\b(fake\.\w+)\(")
_LOADS = re.compile(r"\{%[-+]?\s*(extends|from|import|include)\b")
_WORDS = {"OutOfFuel": f"it takes more than {FUEL:,} steps"}
# For did-you-mean only: the engine does not tell which filters and tests it has.
_FILTERS = (
    *("abs", "batch", "bool", "capitalize", "default", "dictsort", "first", "float", "groupby", "indent", "int"),
    *("items", "join", "last", "length", "lines", "list", "lower", "map", "max", "min", "pprint", "reject"),
    *("replace", "reverse", "round", "select", "slice", "sort", "split", "string", "sum", "title", "tojson", "trim"),
    *("unique", "upper", "urlencode"),
)
_TESTS = (
    *("defined", "divisibleby", "endingwith", "eq", "even", "false", "ge", "gt", "in", "iterable", "le", "lower", "lt"),
    *("mapping", "ne", "none", "number", "odd", "sequence", "startingwith", "string", "true", "undefined", "upper"),
)
