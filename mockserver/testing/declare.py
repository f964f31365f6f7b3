"""`on(...)`: a rule that a test declares, in Python, and what it answers. It stands at the test's own file and line."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, Unpack

from mockserver.config.errors import ConfigError, MockserverError, Place
from mockserver.core.call import Call
from mockserver.core.draft import RenderContext, RuleAnswer
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.reports.calls import sources
from mockserver.rules.answer.compile import Responder
from mockserver.rules.load import Rule
from mockserver.rules.templates import is_template
from mockserver.testing.calls import Calls
from mockserver.testing.options import Details, Then, When, caller, table

Asked = Call  # the request as it was read, as tests annotate it
Function = Callable[[Asked], Any]  # gives a text, or a table like `then`


def calling(
    function: Function, compiled: Callable[[Mapping[str, Json]], Responder], failed: Callable[[Exception], str]
) -> Responder:
    """What a rule says that asks a function. Where it fails that is a 500, in the words of `failed`."""

    def respond(scope: RenderContext) -> RuleAnswer:
        try:
            said = function(scope.call)
            if not isinstance(said, str | Mapping):
                raise TypeError(f"it gives a text or a table like `then`, not {type(said).__name__}")
            answer = compiled(literal({"text": said} if isinstance(said, str) else said))
        except Exception as error:
            raise Failure("server_error", failed(error), status=500, headers=_FINAL) from error
        return answer(scope)

    return respond


def literal(value: Any) -> Any:
    """A value in which no text is a template."""
    match value:
        case str():
            return f"{{{{ {json.dumps(value, ensure_ascii=False)} }}}}" if is_template(value) else value
        case Mapping():
            return {name: literal(inner) for name, inner in value.items()}
        case list() | tuple():
            return [literal(inner) for inner in value]
    return value


_FINAL = (("x-should-retry", "false"),)  # clients of OpenAI's kind would ask again what fails again


__tracebackhide__ = True  # pytest shows the line of the test instead


class Names:
    """Tells declared rules apart that are called the same or stand in one line, of a loop or a helper.

    Counters go by a rule's name, calls by its source: name and line, or the line alone.
    """

    def __init__(self, standing: Iterable[Rule] = ()) -> None:
        self._taken = {text for rule in standing for text in (rule.name, rule.where)}
        self._again = Counter[str]()
        self._count = 0

    def given(self, rule: Rule) -> Rule:
        """The rule, under a name of its own, and in a line of its own if it was given no name."""
        self._count += 1
        if "name" in rule.spec:
            return replace(rule, name=self._free(rule.name))
        return replace(rule, name=self._free(f"on {self._count}"), where=self._free(rule.where))

    def _free(self, text: str) -> str:
        found = text
        while found in self._taken:
            self._again[text] += 1
            found = f"{text} ({self._again[text] + 1})"
        self._taken.add(found)
        return found


class Stage(Protocol):
    """Where declared rules are put to use."""

    names: Names

    def compiled(self, rule: Mapping[str, Json], place: Place) -> Rule:
        """The rule. Raises RuleError."""

    def changed(self) -> None:
        """A rule has come, or is another now."""

    def removed(self, declared: "Declared") -> None:
        """A rule is no more."""

    def failed(self, declared: "Declared", error: Exception) -> None:
        """A function that answers has failed."""

    @property
    def calls(self) -> Calls:
        """All calls so far."""


class Declared:
    """A rule: when a request is as `on` said, it is answered as is said here; exactly one answer.

    Every method gives the rule again. Mistakes raise RuleError with the file and line of the test.
    """

    def __init__(self, stage: Stage, name: str | None, when: When) -> None:
        self.place = caller()
        if name is not None and not isinstance(name, str):
            raise ConfigError(
                f'{self.place.where}: on takes a name and keywords, on("name", last_user="..."), not {name!r}'
            )
        self.wanted: int | None = None  # how many calls it is to answer, as `times` said
        self.rule: Rule | None = None
        self._stage, self._name = stage, name
        self._when = table(when)

    def reply(self, text: str | Function | None = None, **then: Unpack[Then]) -> Self:
        """Answer with a text, or what else stands in a rule's `then`: `json=`, `tool_calls=`, `finish=`...

        A function is called with the request, an Asked, and gives a text (sent as it is) or a table like `then`; it is
        called on a thread of the server. Text is a template as in rules: `{{ match.city }}`.
        """
        if callable(text):
            return self._answered({"text": "", **then}, self._asking(text, then))
        return self._answered(then if text is None else {"text": text, **then})

    def stream(self, pieces: Sequence[str], **then: Unpack[Then]) -> Self:
        """Answer with a text that a stream sends in exactly these pieces; a plain answer has the whole."""
        if isinstance(pieces, str):  # a sequence of texts too, each of one letter
            self.remove()
            raise ConfigError(f"{self.where}: stream takes the pieces of a text, [{pieces!r}], or write reply(...)")
        return self._answered({"text": "".join(pieces), "chunks": list(pieces), **then})

    def fail(self, error: int | str = 500, **details: Unpack[Details]) -> Self:
        """Answer with an error: a status, or a short name such as `rate_limit`, `context_length`, `invalid_key`."""
        beside = {name: value for name, value in details.items() if name in _BESIDE}
        stated: dict[str, Any] = {name: value for name, value in details.items() if name not in _BESIDE}
        if stated:
            stated = {"status" if isinstance(error, int) else "reason": error, **stated}
        return self._answered({"error": stated or error, **beside})

    def steps(self, *steps: str | Mapping[str, Any]) -> Self:
        """Answer each turn of a conversation with the next of these, texts or tables like `then`; the last repeats."""
        other = next((step for step in steps if not isinstance(step, str | Mapping)), None)
        if other is not None:
            self.remove()
            raise ConfigError(
                f"{self.where}: steps takes one text or table for each turn, one after another, not {other!r}"
            )
        return self._answered({"steps": [{"text": step} if isinstance(step, str) else step for step in steps]})

    def then(self, then: Mapping[str, Any]) -> Self:
        """Answer as a rules file says it: the table `then`."""
        return self._answered(then)

    def times(self, number: int) -> Self:
        """Answer so many calls, then step aside; a test in which fewer come fails."""
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ConfigError(f"{self.place.where}: times takes a whole number of at least 1, not {number!r}")
        self.wanted = number
        if self.rule is not None:
            self.rule = replace(self.rule, times=number, spec={**self.rule.spec, "times": number})
            self._stage.changed()
        return self

    def remove(self) -> None:
        """Take the rule away."""
        self._stage.removed(self)

    @property
    def where(self) -> str:
        """The file and line where it is declared."""
        return self.place.where

    @property
    def calls(self) -> Calls:
        """The calls that it has answered, or prompts of them."""
        source = None if self.rule is None else self.rule.source
        return self._stage.calls.of(lambda call: source in (*sources(call), *call.modified_by))

    def _asking(self, function: Function, beside: Mapping[str, Any]) -> Responder:
        def compiled(said: Mapping[str, Json]) -> Responder:
            return self._stage.compiled({"then": {**beside, **said}}, self.place).then.respond

        def failed(error: Exception) -> str:
            self._stage.failed(self, error)
            return f"{self.where}: the function of this rule failed: {type(error).__name__}: {error}"

        return calling(function, compiled, failed)

    def _answered(self, then: Mapping[str, Any], asking: Responder | None = None) -> Self:
        if self.rule is not None:
            raise ConfigError(
                f"{caller().where}: the rule of {self.where} has an answer already; declare another with on(...),"
                " or answer turn by turn with steps(...)"
            )
        times = {} if self.wanted is None else {"times": self.wanted}
        named = {} if self._name is None else {"name": self._name}
        spec = {**named, "when": self._when, **times, "then": _plain(then)}
        try:
            compiled = self._stage.compiled(spec, self.place)
        except MockserverError as error:
            self.remove()  # nobody has to hear that it has no answer either
            raise error.with_traceback(None) from None  # nor where it was found
        rule = self._stage.names.given(compiled)
        self.rule = rule if asking is None else replace(rule, then=replace(rule.then, respond=asking), slow=True)
        self._stage.changed()
        return self


def _plain(value: Any) -> Any:
    """A value as it would be read from a file: tuples are lists there."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


_BESIDE = ("retry_after", "headers", "timing", "faults")
