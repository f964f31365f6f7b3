"""Finds mistakes that minijinja reports only while it renders a template: unknown names, and calls that always fail.

Names are looked up. Calls of filters, tests, functions and methods are tried in the engine, with values of many kinds
in place of those that only a request has. A call is a mistake if it never succeeds, and the reason lies in the
template: in the number and names of the arguments, or in their constant values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice, pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.source import did_you_mean, suggest
from mockserver.core.lazy import compile_lazily
from mockserver.core.text import count_noun
from mockserver.rules.template_variables import KINDS, MEMBERS, VARIABLES, list_providers, make_plain

if TYPE_CHECKING:
    from minijinja import Environment


class TemplateMistake(NamedTuple):
    """What is wrong with a template, and on which of its lines (from 1)."""

    message: str
    line: int


class _WrongWord(NamedTuple):
    """A word of a template that must not stand there, and why."""

    message: str
    word: str

    def locate(self, source: str) -> TemplateMistake:
        found = re.search(rf"\b{re.escape(self.word)}\b", source)
        return TemplateMistake(self.message, source.count("\n", 0, found.start() if found else 0) + 1)


AS_IT_IS = "to send the text as it is, put it between {% raw %} and {% endraw %}"

# The filters of minijinja, which does not list them; an environment may lack some.
FILTERS = (
    "abs", "attr", "batch", "bool", "capitalize", "chain", "count", "default", "dictsort", "escape", "filesizeformat",
    "first", "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "lines", "list", "lower",
    "map", "max", "min", "pluralize", "pprint", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select",
    "selectattr", "slice", "sort", "split", "string", "striptags", "sum", "title", "tojson", "trim", "truncate",
    "unique", "upper", "urlencode", "wordwrap", "zip",
)  # fmt: skip


class TemplateChecker:
    """Checks templates that an environment can parse."""

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._calls = CallCheck(environment, tuple(map(make_plain, SAMPLES)))

    def find_mistakes(
        self, source: str, variables: Iterable[str], groups: frozenset[str] | None
    ) -> Iterator[TemplateMistake]:
        """Yield each mistake.

        `variables` are the names that the template reads, `groups` the named groups of the rule's patterns,
        or None if these are unknown.
        """
        code = _INERT.sub(lambda found: _LETTER.sub(" ", found[0]), source)  # lines stay where they are
        lookups = list(_find_lookups(code))
        for variable in sorted({*variables} - {lookup.variable for lookup in lookups}):
            if (wrong := self._check_variable(variable, groups)) is not None:
                yield wrong.locate(source)
        for lookup in lookups:
            if lookup.shown in _MAP_CALLS:
                continue
            wrong = _check_group_lookup(lookup, groups) or self._check_variable(lookup.variable, groups)
            if wrong is not None:
                yield TemplateMistake(wrong.message, code.count("\n", 0, lookup.offset) + 1)
        for wrong in self._check_names(_INERT.sub("", source)):
            yield wrong.locate(source)
        for call in find_calls(code):
            if call.kind == "function" and call.name not in self._environment.globals:
                continue  # reported as a variable
            root, _, member = call.subject.partition(".")
            kinds = KINDS.get(call.subject) or ((str,) if root == "match" and member else ())
            if (failure := self._calls.explain_failure(call, kinds)) is not None:
                yield TemplateMistake(failure, code.count("\n", 0, call.offset) + 1)

    def _check_variable(self, variable: str, groups: frozenset[str] | None) -> _WrongWord | None:
        root, _, rest = variable.partition(".")
        member = rest.partition(".")[0]
        if root == "fake" and member and member not in list_providers():
            words = f'unknown provider "fake.{member}"{did_you_mean(member, list_providers())}'
            return _WrongWord(words, variable)
        if root == "match" and member and groups is not None and member not in groups:
            return _WrongWord(_explain_missing_group(member, groups), variable)
        if root in MEMBERS and member and member not in MEMBERS[root]:
            hint = f"; write {{{{ {member} }}}}" if member in VARIABLES else suggest(member, MEMBERS[root])
            return _WrongWord(f'"{root}" has no "{member}"{hint}', variable)
        if root not in VARIABLES and root not in self._environment.globals:
            meant = did_you_mean(root, VARIABLES) or f"; choose one of {', '.join(VARIABLES)}; {AS_IT_IS}"
            return _WrongWord(f'unknown variable "{root}"{meant}', root)
        return None

    def _check_names(self, source: str) -> Iterator[_WrongWord]:
        """Yield the filters, tests, methods and tags that are wrong. Comments and raw blocks are removed already."""
        code = " ".join(_QUOTED.sub('""', part) for part in _CODE.findall(source))
        for name in dict.fromkeys(_FILTER.findall(code)):
            if self._lacks(f"''|{name}", "UnknownFilter"):
                usable = [each for each in FILTERS if not self._lacks(f"''|{each}", "UnknownFilter")]
                yield _WrongWord(f'unknown filter "{name}"{did_you_mean(name, usable)}', name)
        for name in dict.fromkeys(_TEST.findall(code)):
            if self._lacks(f"'' is {name}", "UnknownTest"):
                yield _WrongWord(f'unknown test "{name}"', name)
        for name in dict.fromkeys(_UNBOUNDED.findall(code)):
            instead = "use the filter replace" if name == "replace" else "join texts with ~"
            yield _WrongWord(f'the method "{name}" is not supported; {instead}', name)
        for tag in dict.fromkeys(_LOADS.findall(source)):
            yield _WrongWord(f'"{tag}" is not supported: a template cannot load other templates', tag)
        for call in dict.fromkeys(_FAKE_CALL.findall(code)):
            yield _WrongWord(f'"{call}" is a value, not a function; remove the parentheses', call)

    def _lacks(self, expression: str, kind: str) -> bool:
        from minijinja import TemplateError

        try:
            self._environment.eval_expr(expression)
        except TemplateError as error:
            return error.kind == kind
        return False


class _Lookup(NamedTuple):
    """A member of a variable that is not read as `call.model`: `match[1]`, `call["model"]`, `match.group(1)`."""

    variable: str  # `match.1`
    shown: str
    offset: int


def _find_lookups(code: str) -> Iterator[_Lookup]:
    """Yield such members of the variables whose members are known. The code has no comments and no raw text."""
    blocks = list(_read_blocks(code))
    assigned = {name for tokens in blocks for name in _list_assigned(tokens)}
    for tokens in blocks:
        texts = [token.text for token in tokens]
        for index, token in enumerate(tokens):
            root = token.text
            if root not in _WITH_MEMBERS or root in assigned or texts[max(index - 1, 0) : index] == ["."]:
                continue
            match texts[index + 1 : index + 4]:
                case ["[", member, "]"] if member.isdigit() or member[0] in _QUOTES:
                    yield _Lookup(f"{root}.{member.strip(_QUOTES)}", f"{root}[{member}]", token.offset)
                case [".", member, "("] if root == "match":
                    yield _Lookup(f"{root}.{member}", f"{root}.{member}(...)", token.offset)
                case [".", member, *_] if member.isdigit():
                    yield _Lookup(f"{root}.{member}", f"{root}.{member}", token.offset)


def _check_group_lookup(lookup: _Lookup, groups: frozenset[str] | None) -> _WrongWord | None:
    """Return what is wrong with a group that is read by its number, or by a method of Python's matches."""
    root, _, member = lookup.variable.partition(".")
    if root != "match" or not (member.isdigit() or lookup.shown in _MATCH_CALLS):
        return None
    named = f"write match.{min(groups)}" if groups else "name it in the pattern, (?P<name>...), and write match.name"
    return _WrongWord(f'"{lookup.shown}" is undefined: a group is read by its name; {named}', lookup.shown)


_MAP_CALLS = ("match.get(...)", "match.items(...)", "match.keys(...)", "match.values(...)")  # minijinja's
_MATCH_CALLS = tuple(f"match.{name}(...)" for name in ("group", "groups", "groupdict", "start", "end", "span"))


def _explain_missing_group(name: str, groups: frozenset[str]) -> str:
    if not groups:
        return (
            f'"match.{name}" is undefined: no regular expression in "when" has a named group, such as (?P<{name}>...)'
        )
    return f'no regular expression in "when" has a group "{name}"{suggest(name, sorted(groups))}'


# Comments and raw blocks.
_INERT = compile_lazily(r"\{#.*?#\}|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}", re.DOTALL)
_LETTER = compile_lazily(r"[^\n]")
_CODE = compile_lazily(r"\{[{%](.*?)[%}]\}", re.DOTALL)
_QUOTED = compile_lazily(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'")
_FILTER = compile_lazily(r"\|\s*([A-Za-z_]\w*)")
_TEST = compile_lazily(r"\bis\s+(?:not\s+)?([A-Za-z_]\w*)")
_FAKE_CALL = compile_lazily(r"\b(fake\.\w+)\(")
_UNBOUNDED = compile_lazily(r"\.\s*(format|replace)\s*\(")  # their texts may be of any size
_LOADS = compile_lazily(r"\{%[-+]?\s*(extends|from|import|include)\b")


class Argument(Struct, frozen=True):
    """An argument; `source` is the text of a constant, or empty if the value depends on the request."""

    keyword: str = ""
    source: str = ""


class TemplateCall(Struct, frozen=True):
    """One use of a filter, test, function, macro or method; `subject` is the constant or variable before it."""

    kind: str
    name: str
    arguments: tuple[Argument, ...]
    offset: int
    subject: str = ""
    header: str = ""  # of a macro: its name and parameters

    @property
    def is_constant(self) -> bool:
        """Return whether no argument depends on a request."""
        return all(argument.source for argument in self.arguments)


class _Token(Struct, frozen=True):
    text: str
    offset: int

    @property
    def is_name(self) -> bool:
        return self.text.isidentifier() and self.text not in _KEYWORDS

    @property
    def is_constant(self) -> bool:
        return self.text[0] in "\"'" or self.text[0].isdigit() or self.text in _CONSTANTS


def find_calls(source: str) -> Iterator[TemplateCall]:
    """Yield the calls in the code of a template, which has no comments and no raw text."""
    blocks = list(_read_blocks(source))
    headers = dict(filter(None, map(_read_macro_header, blocks)))
    assigned = {name for tokens in blocks for name in _list_assigned(tokens)}
    for tokens in blocks:
        is_header = bool(tokens) and tokens[0].text == "macro"
        for index, token in enumerate(tokens):
            if token.is_name and not (is_header and index == 1):
                for call in _read_calls_at(tokens, index, headers=headers, assigned=assigned):
                    yield replace(call, subject="") if call.subject.partition(".")[0] in assigned else call


class CallCheck:
    """Tries calls in an environment; `samples` stand for values that depend on the request."""

    def __init__(self, environment: "Environment", samples: Sequence[Any]) -> None:
        self._environment = environment
        self._samples = samples
        self._known: dict[object, str | None] = {}

    def explain_failure(self, call: TemplateCall, kinds: Sequence[type] = ()) -> str | None:
        """Return why a call fails with every value, or None; `kinds` are the possible types of its subject."""
        key = (replace(call, offset=0), kinds)
        if key not in self._known:
            self._known[key] = self._explain(call, self._select_subjects(call, kinds))
        return self._known[key]

    def _explain(self, call: TemplateCall, subjects: Sequence[Any]) -> str | None:
        tried = self._try(call, subjects)
        if tried.succeeds:
            return None
        reason = tried.miscounted or self._find_reason(call, subjects, tried)
        if reason is None:
            return None
        named = self._suggest_keyword(call, subjects) if tried.miscounted else ""
        return f'the {call.kind} "{call.name}" always fails: {reason}' + (named and f"; did you mean {named}?")

    def _find_reason(self, call: TemplateCall, subjects: Sequence[Any], tried: "_Trial") -> str | None:
        """Return why the call's own text makes it fail, if similar calls with the same values succeed."""
        if call.kind == "function" and call.is_constant:
            return tried.failures[0]
        for other, more in self._vary(call):
            repaired = self._try(other, self._samples)
            if repaired.succeeds:
                same = [each for each in subjects if each is repaired.subject] or subjects
                return self._try(call, same).failures[0] + more
        return None

    def _vary(self, call: TemplateCall) -> Iterator[tuple[TemplateCall, str]]:
        """Yield the call with other constants; without arguments or with one, also the hint if that succeeds."""
        yield replace(call, arguments=tuple(Argument(each.keyword) for each in call.arguments)), ""
        if not call.arguments:
            yield replace(call, arguments=(Argument(),)), ""
        elif call.is_constant:
            for count in reversed(range(len(call.arguments))):
                yield (
                    replace(call, arguments=call.arguments[:count]),
                    f"; it accepts at most {count_noun(count, 'argument')}",
                )

    def _try(self, call: TemplateCall, subjects: Sequence[Any]) -> "_Trial":
        return _Trial(call, self._environment, samples=self._samples, subjects=subjects)

    def _select_subjects(self, call: TemplateCall, kinds: Sequence[type]) -> Sequence[Any]:
        if call.subject[:1] in ("'", '"') or call.subject[:1].isdigit():
            return [self._environment.eval_expr(call.subject)]
        return [each for each in self._samples if not kinds or type(each) in kinds]

    def _suggest_keyword(self, call: TemplateCall, subjects: Sequence[Any]) -> str:
        """Return the keyword for a lone argument that can only be passed by name, or an empty text."""
        if call.kind != "filter" or len(call.arguments) != 1 or call.arguments[0].keyword:
            return ""
        for keyword in _USUAL_KEYWORDS:
            named = Argument(keyword, call.arguments[0].source)
            if self._try(replace(call, arguments=(named,)), subjects).succeeds:
                return f"{call.name}({keyword}={named.source or '...'})"
        return ""


class _Trial:
    """The attempts to make a call, up to the first that succeeds."""

    def __init__(
        self, call: TemplateCall, environment: "Environment", *, samples: Sequence[Any], subjects: Sequence[Any]
    ) -> None:
        self.succeeds = False
        self.subject: Any = None  # a subject with which it succeeds
        self.failures: list[str] = []
        self.miscounted: str | None = None
        template = _write_template(call)
        names = [f"a{index}" for index, argument in enumerate(call.arguments) if not argument.source]
        if call.kind in ("function", "macro"):
            subjects = (None,)
        for subject in subjects:
            for values in _combine_samples(samples, len(names)):
                try:
                    environment.render_str(template, subject=subject, **dict(zip(names, values, strict=True)))
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:  # minijinja's panics are not Exceptions
                    self._note(error)
                    if getattr(error, "kind", "") == "UnknownMethod":
                        break  # no arguments help with this subject
                else:
                    self.succeeds = True
                    self.subject = subject
                    return

    def _note(self, error: BaseException) -> None:
        kind = getattr(error, "kind", "")
        said = str(error).partition("\n")[0].partition(" (in ")[0]
        reason = getattr(error, "detail", "") or _REASONS.get(kind) or said
        miscounts = kind in _REASONS
        if isinstance(error, TypeError) and (found := _COUNTED.search(said)):  # raised by functions written in Python
            lacks = "missing" in said or "at least" in said
            miscounts = True
            reason = _REASONS["MissingArgument" if lacks else "TooManyArguments"]
            if found[1]:
                reason = f"unknown keyword argument {found[1]}"
        self.failures.append(reason)
        if miscounts and self.miscounted is None:
            self.miscounted = reason


def _combine_samples(samples: Sequence[Any], count: int) -> Iterable[tuple[Any, ...]]:
    """Return values for arguments that depend on the request: all pairs of samples; more repeat in turn."""
    return [tuple(islice(cycle(pair), count)) for pair in product(samples[_ARGUMENT_SAMPLES], repeat=min(count, 2))]


def _write_template(call: TemplateCall) -> str:
    arguments = ", ".join(
        (f"{argument.keyword}=" if argument.keyword else "") + (argument.source or f"a{index}")
        for index, argument in enumerate(call.arguments)
    )
    match call.kind:
        case "filter":
            return f"{{% set _ = subject|{call.name}({arguments}) %}}"
        case "test":
            return f"{{% set _ = subject is {call.name}({arguments}) %}}"
        case "method":
            return f"{{% set _ = subject.{call.name}({arguments}) %}}"
    macro = f"{{% macro {call.header} %}}{{% endmacro %}}" if call.header else ""
    return f"{macro}{{% set _ = {call.name}({arguments}) %}}"


def _read_blocks(source: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each `{{ }}` and `{% %}`."""
    at = 0
    while (opening := _OPENING.search(source, at)) is not None:
        closing = "}}" if opening[0] == "{{" else "%}"
        depth = 0
        tokens = list[_Token]()
        at = opening.end()
        while (found := _TOKEN.match(source, at)) is not None:
            text = found[1]
            at = found.end()
            if depth == 0 and source.startswith(closing, found.start(1)):
                edges = (opening.end(), found.start(1) - 1)  # a sign there trims the text around the block
                yield [token for token in tokens if token.text not in "-+" or token.offset not in edges]
                at = found.start(1) + 2
                break
            depth += (text in _OPEN) - (text in _CLOSE)
            tokens.append(_Token(text, found.start(1)))
        else:
            return


def _read_calls_at(
    tokens: Sequence[_Token], index: int, headers: Mapping[str, str], assigned: set[str]
) -> Iterator[TemplateCall]:
    token = tokens[index]
    before = [each.text for each in tokens[:index]]
    follows = tokens[index + 1].text if index + 1 < len(tokens) else ""
    arguments: tuple[Argument, ...] | None = ()
    if follows == "(":
        arguments = _read_arguments(tokens, index + 2)
    if before[-1:] == ["|"] or before == ["filter"]:
        if arguments is not None:
            yield TemplateCall(
                "filter", token.text, arguments=arguments, offset=token.offset, subject=_read_subject(tokens, index - 1)
            )
    elif before[-1:] == ["is"] or before[-2:] == ["is", "not"]:
        if follows and follows not in _AFTER_TEST:
            argument = tokens[index + 1]
            arguments = (Argument(source=argument.text if argument.is_constant else ""),)
            if argument.text in ("-", "+", "*"):  # the test's argument, or the rest of the expression
                return
        if arguments is not None:
            yield TemplateCall("test", token.text, arguments=arguments, offset=token.offset)
    elif follows == "(" and arguments is not None:
        if before[-1:] == ["."]:
            yield TemplateCall("method", token.text, arguments=arguments, offset=token.offset)
        elif token.text in headers and token.text not in assigned:
            yield TemplateCall(
                "macro", token.text, arguments=arguments, offset=token.offset, header=headers[token.text]
            )
        elif token.text not in headers and token.text not in assigned:
            yield TemplateCall("function", token.text, arguments=arguments, offset=token.offset)


def _read_arguments(tokens: Sequence[_Token], start: int) -> tuple[Argument, ...] | None:
    """Return the arguments after a parenthesis; None if their number is not known."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens[start:]:
        if depth == 0 and token.text == ")":
            found = [part for part in parts if part]
            if any(part[0].text in ("*", "**") for part in found):
                return None
            return tuple(map(_read_argument, found))
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return None


def _read_argument(tokens: Sequence[_Token]) -> Argument:
    keyword = tokens[0].text if len(tokens) > 2 and tokens[0].is_name and tokens[1].text == "=" else ""
    value = tokens[2:] if keyword else tokens
    is_constant = all(token.is_constant or token.text in _PUNCTUATION for token in value)
    return Argument(keyword, " ".join(token.text for token in value) if is_constant else "")


def _read_subject(tokens: Sequence[_Token], pipe: int) -> str:
    """Return the constant or variable before a filter, with its path; an empty text for other expressions."""
    start = pipe
    while start > 0 and (tokens[start - 1].is_name or tokens[start - 1].text == "."):
        start -= 1
    if start == pipe and start > 0 and tokens[start - 1].is_constant:
        start -= 1
    if start > 0 and tokens[start - 1].text in ("|", "is", "not", ")", "]", "}"):
        return ""
    return "".join(token.text for token in tokens[start:pipe])


def _read_macro_header(tokens: Sequence[_Token]) -> tuple[str, str] | None:
    """Return the name of a macro, and its header with the parameters, without their defaults."""
    if len(tokens) < 3 or tokens[0].text != "macro":
        return None
    parameters = list[str]()
    depth = 0
    for before, token in pairwise(tokens[2:]):
        if depth == 0 and token.is_name and before.text in ("(", ","):
            parameters.append(token.text)
        elif depth == 0 and token.text == "=":
            parameters[-1] += "=none"
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
    return tokens[1].text, f"{tokens[1].text}({', '.join(parameters)})"


def _list_assigned(tokens: Sequence[_Token]) -> Iterable[str]:
    """Return the names that a tag assigns."""
    if not tokens or tokens[0].text not in ("set", "for", "with", "macro", "call"):
        return ()
    end = {"for": "in", "set": "="}.get(tokens[0].text, "")
    names = [token.text for token in tokens[2 if tokens[0].text == "macro" else 1 :]]
    return names[: names.index(end)] if end in names else names


# Samples of a request's values: each filter and test of the engine accepts some of these. `upper` is the name of
# a filter and of a test, too.
SAMPLES: tuple[Any, ...] = (
    "upper", 7, 1, "1", True, None, ["a"], {"a": 1},
    "", "a b", "1.5", "2024-01-31T10:00:00Z", 0, 1.5, [], [1, 2], {}, [{"a": 1}], [["a", 1]], [["a"], ["b"]],
)  # fmt: skip
# The samples that are tried as arguments: all pairs, with each of the others before a filter.
_ARGUMENT_SAMPLES = slice(8)
_REASONS = {"TooManyArguments": "too many arguments", "MissingArgument": "an argument is missing"}
_COUNTED = compile_lazily(r"\(\) (?:takes |missing |got an unexpected keyword argument ('\w+'))|expected .*argument")
_USUAL_KEYWORDS = ("length", "width", "attribute", "reverse", "default", "by", "binary", "case_sensitive")

_QUOTES = "\"'"
_WITH_MEMBERS = frozenset(("match", *MEMBERS))
_OPENING = compile_lazily(r"\{\{|\{%")
_TOKEN = compile_lazily(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d[\w.]*|[^\W\d]\w*|\*\*|//|[=!<>]=|\S)""")
_OPEN = {"(", "[", "{"}
_CLOSE = {")", "]", "}"}
_CONSTANTS = {"true", "false", "none", "True", "False", "None"}
_KEYWORDS = {*_CONSTANTS, "and", "or", "not", "in", "is", "if", "else", "elif", "for", "set", "recursive"}
_AFTER_TEST = {
    "(", ")", "]", "}", ",", ":", "|", "~", ".", "=", "==", "!=", "<", ">", "<=", ">=", "/", "//", "%",
    "and", "or", "else", "if", "is", "not", "in", "recursive",
}  # fmt: skip
_PUNCTUATION = {"[", "]", "{", "}", "(", ")", ",", ":", "-", "~", "+"}
