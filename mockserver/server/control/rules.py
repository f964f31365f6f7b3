"""Rules over HTTP: which there are, and more of them for a namespace while the server runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from starlette.responses import Response

from mockserver.config.errors import Mistake, MockserverError, SourceLocation
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.timing import Profiles
from mockserver.core.json import Json
from mockserver.engine.counters import counters_of_rule
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import check
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.live import compiled
from mockserver.server.namespaces import Namespace

FILE = "api"  # how reports call what no file holds: `rule api flaky`


def rules_of(asked: ControlRequest, named: int) -> tuple[tuple[Rule, ...], int]:
    """The rules of the body, and how many names they got here, after `named` that were given before.

    Raises RefusedError with every mistake.
    """
    document, given = _named(_document(asked), named)
    profiles = asked.live.settings.profiles
    try:
        rules = compiled((document,), profiles)
        check(rules, asked.live.player.cassettes)
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


class _JsonPath(SourceLocation):
    """A place in JSON: `rules[0].then.text`."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.file

    where = property(__str__)


class _Outline(Document):
    """A document without lines: places are paths."""

    __slots__ = ()

    def place(self, path: Path, *, key: bool = False) -> SourceLocation:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return _JsonPath("".join(steps).removeprefix(".") or "the body", 0, 0)


def _document(asked: ControlRequest) -> Document:
    try:
        document = read(asked.body, FILE) if "yaml" in asked.kind else Document.of(asked.content(), FILE)
    except MockserverError as error:
        raise refused(error.mistakes) from error
    data = document.data
    if isinstance(data, Mapping) and "rules" not in data and ("then" in data or "when" in data):
        return Document.of({"rules": [data]}, FILE)
    if isinstance(data, Mapping) and data.get("settings"):
        raise RefusedError(400, 'settings belong in a file or in flags; take "settings" out of the body')
    return document


def _named(document: Document, named: int) -> tuple[Document, int]:
    """The same with a name for each rule, by which it can be removed; and how many names were given."""
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
    if not any(mistake.place is not None for mistake in error.mistakes):
        try:
            compiled((_Outline(document.data, FILE),), profiles)
        except MockserverError as again:
            return again.mistakes
    return error.mistakes


MOST = 10_000  # rules that a namespace may have of its own


async def listed(asked: ControlRequest) -> Response:
    """Every rule in the order in which they are tried."""
    own, hits = asked.live.namespaces.get(asked.one_namespace), asked.live.journal.hits(asked.namespace)
    shown = list[Json]()
    for at, rule in enumerate(own.engine(asked.live.engine).rules):
        counts = rule.counts or "attempt" in rule.when.uses
        more = {"added": at < len(own.rules), "hits": hits[rule.source], "counts": counts, "spec": rule.spec}
        shown.append({"name": rule.name, "source": rule.source, **more})
    return json_response({"rules": shown})


async def add(asked: ControlRequest) -> Response:
    """Put rules in front of all others of a namespace; all of them, or none if one has a mistake."""
    live, name, replaces = asked.live, asked.one_namespace, asked.switch("replace")
    async with live.changing:
        rules, named = await on_thread(partial(rules_of, asked, live.namespaces.get(name).named))
        _check(rules, live.namespaces.get(name), live.engine.rules, replace=replaces)
        space, names = live.namespaces.touch(name), [rule.name for rule in rules]
        await live.forget_evicted()
        gone = [rule for rule in space.rules if rule.name in names]
        space.named += named
        space.rules = (*rules, *(rule for rule in space.rules if rule.name not in names))
        await _uncount(asked, gone)
        return json_response({"names": names, "rules": len(space.rules) + len(live.engine.rules)}, 201)


async def remove(asked: ControlRequest) -> Response:
    """Take one rule away that was added while the server runs."""
    space = asked.live.namespaces.get(asked.one_namespace)
    found = [rule for rule in space.rules if rule.name == asked.item]
    if not found:
        raise RefusedError(404, _missing(asked.item, space, asked.live.engine.rules))
    return await _removed(asked, space, found)


async def remove_all(asked: ControlRequest) -> Response:
    """Take all rules away that were added to a namespace; those of the files stay."""
    space = asked.live.namespaces.get(asked.one_namespace)
    return await _removed(asked, space, space.rules)


async def _removed(asked: ControlRequest, space: Namespace, gone: Sequence[Rule]) -> Response:
    names = {rule.name for rule in gone}
    space.rules = tuple(rule for rule in space.rules if rule.name not in names)
    await _uncount(asked, gone)
    return json_response({"removed": [rule.name for rule in gone]})


async def _uncount(asked: ControlRequest, rules: Iterable[Rule]) -> None:
    """Reset the counters of removed rules: one that is added again by the same name starts over."""
    live, namespace = asked.live, asked.namespace
    counted = await live.store.entries(namespace)
    for rule in rules:
        live.journal.hits(namespace).pop(rule.source, None)
        for counter in counters_of_rule(rule.name, counted) if rule.counts or rule.then.order_dependent else ():
            await live.store.set(namespace, counter, "0")


def _check(rules: Sequence[Rule], space: Namespace, others: Sequence[Rule], *, replace: bool) -> None:
    own, filed = {rule.name for rule in space.rules}, {rule.name: rule.where for rule in others}
    found = [(rule.name, f": {filed[rule.name]} has it already") for rule in rules if rule.name in filed]
    if not replace:
        added = " by a rule that was added; use ?replace=true to replace it"
        found += [(rule.name, added) for rule in rules if rule.name in own]
    taken = [f'the name "{name}" is taken{words}' for name, words in found]
    if taken:
        raise refused([Mistake(words) for words in taken], 409)
    if len(rules) + len(space.rules) > MOST:
        raise RefusedError(409, f"a namespace has at most {MOST} rules of its own; remove some with DELETE rules")


def _missing(name: str, space: Namespace, others: Sequence[Rule]) -> str:
    filed = next((rule.where for rule in others if rule.name == name), None)
    if filed is not None:
        return f'the rule "{name[:120]}" is in {filed}; only rules that were added can be removed'
    hint = did_you_mean(name, (rule.name for rule in space.rules))
    return f'there is no rule "{name[:120]}" that was added{hint}'
