"""Rules that tests declare in Python: `on(...)`, how each is answered, and the book that has them all."""

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from re import Pattern
from typing import Any, Self, Unpack

from msgspec.structs import replace

from mockserver.config.errors import ConfigError, MockserverError, SourceLocation
from mockserver.config.nearest_names import NamesNearest
from mockserver.config.source import Document
from mockserver.core.call import Call
from mockserver.core.draft import RenderContext, RuleAnswer
from mockserver.core.json import Json, map_texts
from mockserver.core.plan import blame_rule
from mockserver.reports.activity import RaisedError
from mockserver.reports.calls import was_used
from mockserver.reports.coverage import find_watch
from mockserver.rules.answer.compile import MakeAnswer
from mockserver.rules.load import Rule
from mockserver.rules.templates import is_template
from mockserver.server.namespaces import DEFAULT
from mockserver.server.sources import compile_rules
from mockserver.testing.assertions import Calls
from mockserver.testing.callers import find_caller
from mockserver.testing.local_server import LocalServer
from mockserver.testing.options import Details, ErrorName, Then, When, merge_text
from mockserver.testing.setup import load_rules

__tracebackhide__ = True  # pytest shows the line of the test instead

Asked = Call  # under the name that tests use: the request as it was read, without its answer
Function = Callable[[Asked], Any]  # returns a text, or a table like `then`


def write_literal(text: str) -> str:
    """Return a text that is sent as it is, even if it looks like a template."""
    return f"{{{{ {json.dumps(text, ensure_ascii=False)} }}}}" if is_template(text) else text


_FINAL = (("x-should-retry", "false"),)  # OpenAI's clients would retry a 500, which fails again


class UniqueNames:
    """Gives each declared rule its own name and place, as rules in a loop share theirs; counters depend on them."""

    def __init__(self, taken: Iterable[Rule] = ()) -> None:
        self._taken = {text for rule in taken for text in (rule.name, rule.where)}
        self._again = Counter[str]()
        self._count = 0

    def rename_rule(self, rule: Rule) -> Rule:
        """Return the rule with a unique name, and if the test did not name it, a unique place."""
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


class RuleBook:
    """The rules of a test, in front of those of its server's files: declared in Python, loaded, or laid over all.

    `failures`: what reply functions raised.
    """

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.declared: list[Declared] = []
        self.loaded: tuple[Rule, ...] = ()
        self.failures: list[RaisedError] = []
        self._kept: tuple[Declared, ...] = ()
        self._overrides: tuple[Rule, ...] = ()
        self._service: tuple[Rule, ...] = ()
        self._namespaces = [DEFAULT]
        self._names = UniqueNames()

    def add(self, declared: "Declared") -> None:
        """Try a declared rule after those added before, once it has an answer."""
        if declared not in self.declared:
            self.declared.append(declared)

    def remove(self, declared: "Declared") -> None:
        """Stop trying a declared rule."""
        self.declared = [one for one in self.declared if one is not declared]
        self._kept = tuple(one for one in self._kept if one is not declared)
        self.apply()

    def compile(self, spec: Mapping[str, Json], place: SourceLocation) -> Rule:
        """Return a rule declared at a place of a program. Raises RuleError."""
        document = Document.from_place({"rules": [spec]}, place)
        return compile_rules((document,), self.server.live.settings)[0]

    def compile_declared(self, spec: Mapping[str, Json], place: SourceLocation) -> Rule:
        """Return a rule with a name that no other rule of the test has. Raises RuleError."""
        return self._names.rename_rule(self.compile(spec, place))

    def load(self, path: Path) -> None:
        """Try the rules of a file after those declared. Raises MockserverError."""
        self.loaded += load_rules(path, self.server.live.settings)
        self.apply()

    def override(self, *rules: Rule) -> None:
        """Try these rules before all others until the next reset; they replace previous overrides."""
        self._overrides = rules
        self.apply()

    def serve_agent(self, namespace: str, rules: tuple[Rule, ...]) -> None:
        """Use all rules in the namespace of a coding agent, too, and before them those for what it asks for itself."""
        self._namespaces.append(namespace)
        self._service = rules
        self.apply()

    def keep_declared(self) -> None:
        """Keep the rules declared so far through resets; they are tried after those declared later."""
        self._kept = (*self._kept, *self.declared)
        self.declared = []

    def reset(self) -> None:
        """Forget all rules but the kept ones."""
        self.declared = []
        self.loaded = ()
        self.failures = []
        self._overrides = ()
        self._service = ()
        self._namespaces = [DEFAULT]
        self._names = UniqueNames(one.rule for one in self._kept if one.rule is not None)
        self.apply()

    def apply(self) -> None:
        """Let the server use the rules as they are now. Raises ConfigError in a fork of its process."""
        self.server.check_here()
        every = (*sorted(self.declared, key=lambda one: one.is_last), *self._kept)
        declared = tuple(one.rule for one in every if one.rule is not None)
        if (watch := find_watch()) is not None:
            watch.add_rules(self.loaded)
            watch.add_rules(declared, declared=True)
        rules = (*self._service, *self._overrides, *declared, *self.loaded)
        for namespace in self._namespaces:
            self.server.live.namespaces.touch(namespace).rules = rules

    def note_failure(self, declared: "Declared", error: Exception, defect: str) -> None:
        """Note that a reply function raised, unless its rule belongs to a previous test."""
        if declared in (*self.declared, *self._kept):
            self.failures.append(RaisedError(declared.where, error, defect))


class Declared(NamesNearest):
    """A rule that `on(...)` declared; call one of its methods to give it an answer.

    Every method returns the rule. Mistakes raise RuleError with the file and line of the test.
    """

    is_last = False  # whether it is tried after all others

    def __init__(self, rules: RuleBook, text: Sequence[str | Pattern[str]], name: str | None, when: When) -> None:
        self.place = find_caller()
        self.expected_calls: int | None = None  # set by `times`
        self.rule: Rule | None = None
        self._rules = rules
        self._name = name
        self._when = merge_text(text, when)

    def reply(self, text: str | Function | None = None, **then: Unpack[Then]) -> Self:
        """Answer with a text, or with other keys of a rule's `then`: `json=`, `tool_calls=`, `finish=`...

        A text is a template as in rules: `{{ match.city }}`. A function is called with the request, an Asked, on a
        thread of the server; it returns a text (sent as it is) or a table like `then`.
        """
        if callable(text):
            return self._answer({"json": "", **then}, self._make_responder(text, then))  # JSON suits every path
        if text is not None and not isinstance(text, str):
            self.remove()
            raise ConfigError(
                f"{self.where}: reply takes a text, a function or keywords, not {text!r};"
                " for JSON use .reply(json=...), for a table of keys .then({...})"
            )
        return self._answer(then if text is None else {"text": text, **then})

    def stream(self, pieces: Sequence[str], **then: Unpack[Then]) -> Self:
        """Answer with a text that is streamed in exactly these pieces; a plain answer has the whole."""
        if isinstance(pieces, str) or not isinstance(pieces, Sequence):  # a text is a sequence of texts, too
            self.remove()
            example = [pieces] if isinstance(pieces, str) else ["Hel", "lo"]
            raise ConfigError(
                f"{self.where}: stream takes a list of pieces, such as {example!r}; for a whole text use reply(...)"
            )
        return self._answer({"text": "".join(pieces), "chunks": list(pieces), **then})

    def fail(self, error: int | ErrorName = 500, **details: Unpack[Details]) -> Self:
        """Answer with an error: a status, or a short name such as `rate_limit`, `context_length`, `invalid_key`."""
        if not isinstance(error, int | str):
            self.remove()
            status = getattr(error, "status_code", None)  # as the clients' classes of errors have it
            example = f".fail({status})" if isinstance(status, int) else '.fail(429) or .fail("rate_limit")'
            raise ConfigError(f"{self.where}: fail takes a status or a short name, such as {example}, not {error!r}")
        separate = {name: value for name, value in details.items() if name in _SEPARATE}
        stated: dict[str, Any] = {name: value for name, value in details.items() if name not in _SEPARATE}
        if stated:
            stated = {"status" if isinstance(error, int) else "reason": error, **stated}
        return self._answer({"error": stated or error, **separate})

    def steps(self, *steps: str | Mapping[str, Any]) -> Self:
        """Answer each turn of a conversation with the next step: a text, or a table like `then`."""
        other = next((step for step in steps if not isinstance(step, str | Mapping)), None)
        if other is not None:
            self.remove()
            raise ConfigError(f"{self.where}: steps takes a text or a table for each turn, not {other!r}")
        return self._answer({"steps": [{"text": step} if isinstance(step, str) else step for step in steps]})

    def then(self, then: Mapping[str, Any]) -> Self:
        """Answer with a `then` as in a rules file."""
        if not isinstance(then, Mapping):
            self.remove()
            instead = f"for a text use .reply({then!r})" if isinstance(then, str) else "for a text use .reply(...)"
            raise ConfigError(f'{self.where}: then takes a table, such as {{"text": "Hello"}}, not {then!r}; {instead}')
        return self._answer(then)

    def times(self, number: int) -> Self:
        """Answer this number of calls, then let the next rule answer; a test with fewer calls fails."""
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ConfigError(f"{self.place.where}: times takes a whole number of at least 1, not {number!r}")
        self.expected_calls = number
        if self.rule is not None:
            self.rule = replace(self.rule, times=number, spec={**self.rule.spec, "times": number})
            self._rules.apply()
        return self

    def remove(self) -> None:
        """Remove the rule."""
        self._rules.remove(self)

    @property
    def where(self) -> str:
        """The file and line where it is declared."""
        return self.place.where

    @property
    def calls(self) -> Calls:
        """The calls that it answered or modified, at least in part."""
        rule = self.rule
        return self._rules.server.calls.of(lambda call: rule is not None and was_used(rule, call))

    def _make_responder(self, function: Function, more: Mapping[str, Any]) -> MakeAnswer:
        """Return a responder that calls a function; if it raises, the answer is a 500."""

        def respond(scope: RenderContext) -> RuleAnswer:
            try:
                returned = function(scope.call)
                if isinstance(returned, Coroutine):
                    returned.close()
                    raise TypeError("async functions are not supported; reply with a plain function")
                if not isinstance(returned, str | Mapping):
                    raise TypeError(f"it must return a text or a table like `then`, not {type(returned).__name__}")
                then = map_texts({"text": returned} if isinstance(returned, str) else returned, write_literal)
                answer = self._rules.compile({"then": {**more, **then}}, self.place).then.respond
            except Exception as error:
                why = f"{self.where}: the function of this rule raised {type(error).__name__}: {error}"
                self._rules.note_failure(self, error, defect=why)
                raise blame_rule(why).replace(headers=_FINAL) from error
            return answer(scope)

        return respond

    def _answer(self, then: Mapping[str, Any], responder: MakeAnswer | None = None) -> Self:
        if self.rule is not None:
            raise ConfigError(
                f"{find_caller().where}: the rule at {self.where} already has an answer; declare another rule with"
                " on(...), or use steps(...) to answer turn by turn"
            )
        times = {} if self.expected_calls is None else {"times": self.expected_calls}
        named = {} if self._name is None else {"name": self._name}
        spec = {**named, "when": self._when, **times, "then": then}
        try:
            rule = self._rules.compile_declared(spec, self.place)
        except MockserverError as error:
            self.remove()  # so that it is not reported as having no answer, too
            raise error.with_traceback(None) from None
        self.rule = rule if responder is None else replace(rule, then=replace(rule.then, respond=responder), slow=True)
        self._rules.apply()
        return self


_SEPARATE = ("retry_after", "headers", "timing", "faults")
