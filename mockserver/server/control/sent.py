"""Rules that come in the body of a request: read, named and compiled, with every mistake told where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mockserver.core.call import Json
from mockserver.core.errors import Mistake, MockserverError, Place
from mockserver.engine.rules import Rule
from mockserver.kinds.timing import Profiles
from mockserver.positions import Document, Path, read
from mockserver.server.control.asked import Asked, RefusedError
from mockserver.server.live import compiled

FILE = "api"  # how reports call what no file holds: `rule api flaky`


def rules_of(asked: Asked, named: int) -> tuple[tuple[Rule, ...], int]:
    """The rules of the body, and how many names they got here, after `named` that were given before.

    Raises RefusedError with every mistake.
    """
    document, given = _named(_document(asked), named)
    profiles = asked.live.settings.profiles
    try:
        rules = compiled((document,), profiles)
    except MockserverError as error:
        raise refused(_placed(document, error, profiles)) from error
    if not rules:
        words = 'there is no rule in the body; send {"rules": [{"when": {...}, "then": {...}}]}, or one rule'
        raise RefusedError(400, words)
    return rules, given


def refused(mistakes: Sequence[Mistake], status: int = 400) -> RefusedError:
    """That nothing was added, and why."""
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return RefusedError(status, f"nothing was added: {mistakes[0]}{more}", mistakes=mistakes)


class _Step(Place):
    """A place in JSON: the steps that lead there."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return self.file


class _Outline(Document):
    """A document without lines, in which every place is told by its path: `rules[0].then.text`."""

    __slots__ = ()

    def place(self, path: Path, *, key: bool = False) -> Place:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return _Step("".join(steps).removeprefix(".") or "the body", 0, 0)


def _document(asked: Asked) -> Document:
    """What the body says; a single rule as the only one of a file."""
    if "yaml" in asked.kind:
        try:
            document = read(asked.body, FILE)
        except MockserverError as error:
            raise refused(error.mistakes) from error
    else:
        document = Document.of(asked.content(), FILE)
    data = document.data
    if isinstance(data, Mapping) and "rules" not in data and ("then" in data or "when" in data):
        return Document.of({"rules": [data]}, FILE)
    if isinstance(data, Mapping) and data.get("settings"):
        raise RefusedError(400, 'settings stand in a file or in flags; take "settings" out of the body')
    return document


def _named(document: Document, named: int) -> tuple[Document, int]:
    """The same with a name for each rule, as one must be called to be removed; and how many names were given."""
    listed = document.data.get("rules") if isinstance(document.data, Mapping) else None
    if not isinstance(listed, list):
        return document, 0
    rules, given = list[Json](), 0
    for rule in listed:
        if isinstance(rule, Mapping) and rule.get("name") is None:
            given += 1
            rule = {**rule, "name": f"added {named + given}"}
        rules.append(rule)
    return replace(document, data={**document.data, "rules": rules}), given


def _placed(document: Document, error: MockserverError, profiles: Profiles) -> Sequence[Mistake]:
    """The mistakes with their places; where there are no lines, with their paths."""
    if any(mistake.place is not None for mistake in error.mistakes):
        return error.mistakes
    try:
        compiled((_Outline(document.data, FILE),), profiles)
    except MockserverError as again:
        return again.mistakes
    return error.mistakes
