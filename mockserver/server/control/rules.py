"""Rules over HTTP: which there are, and more of them for a namespace while the server runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from starlette.responses import Response

from mockserver.config.errors import Mistake, MockserverError, Place
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.timing import Profiles
from mockserver.core.json import Json
from mockserver.engine.counters import counters_of_rule
from mockserver.engine.offload import LARGE, aside
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import CassetteStore, check, named_in
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


def _document(asked: ControlRequest) -> Document:
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


MOST = 10_000  # rules that a namespace may have of its own


async def listed(asked: ControlRequest) -> Response:
    """Every rule in the order in which they are tried."""
    live, namespace = asked.live, asked.one_namespace
    own = live.namespaces.get(namespace)
    hits = live.journal.hits(namespace)
    rules = own.engine(live.engine).rules
    return json_response(
        {"rules": [_shown(rule, hits[rule.source], at < len(own.rules)) for at, rule in enumerate(rules)]}
    )


async def add(asked: ControlRequest) -> Response:
    """Put rules in front of all others of a namespace; all of them, or none where one has a mistake."""
    async with asked.live.changing:
        return await _added(asked, replace=asked.switch("replace"))


async def _added(asked: ControlRequest, *, replace: bool) -> Response:
    live, name = asked.live, asked.one_namespace
    work = partial(rules_of, asked, live.namespaces.get(name).named)
    rules, named = await aside(work) if len(asked.body) > LARGE else work()
    if any(cassette for rule in rules for cassette in named_in(rule.spec["then"])):
        await aside(partial(_check_cassettes, rules, live.player.cassettes))
    space = live.namespaces.get(name)
    _check(rules, space, live.engine.rules, replace=replace)
    names = {rule.name for rule in rules}
    gone = [rule for rule in space.rules if rule.name in names]
    space = live.namespaces.touch(name)
    await live.forget_evicted()
    space.named += named
    space.put((*rules, *(rule for rule in space.rules if rule.name not in names)))
    await _uncount(asked, gone)
    return json_response(
        {"names": [rule.name for rule in rules], "rules": len(space.rules) + len(live.engine.rules)}, 201
    )


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
    space.put(rule for rule in space.rules if rule.name not in names)
    await _uncount(asked, gone)
    return json_response({"removed": [rule.name for rule in gone]})


async def _uncount(asked: ControlRequest, rules: Iterable[Rule]) -> None:
    """A rule that comes again by the name of one that went begins anew."""
    live, namespace = asked.live, asked.namespace
    counted = await live.store.entries(namespace)
    for rule in rules:
        live.journal.hits(namespace).pop(rule.source, None)
        for counter in counters_of_rule(rule.name, counted) if rule.counts or rule.then.order_dependent else ():
            await live.store.set(namespace, counter, "0")


def _shown(rule: Rule, hits: int, added: bool) -> dict[str, Json]:
    return {
        "name": rule.name,
        "source": rule.source,
        "added": added,
        "hits": hits,
        "counts": rule.counts or "attempt" in rule.when.uses,
        "spec": rule.spec,
    }


def _check(rules: Sequence[Rule], space: Namespace, others: Sequence[Rule], *, replace: bool) -> None:
    """Refuse names that are taken, and more rules than there is room for."""
    own, filed = {rule.name for rule in space.rules}, {rule.name: rule.where for rule in others}
    taken = [
        f'the name "{rule.name}" is taken: {filed[rule.name]} has it already' for rule in rules if rule.name in filed
    ]
    if not replace:
        twice = (rule.name for rule in rules if rule.name in own)
        taken += [
            f'the name "{name}" is taken by a rule that was added; use ?replace=true to replace it' for name in twice
        ]
    if taken:
        raise refused([Mistake(words) for words in taken], 409)
    if len(rules) + len(space.rules) > MOST:
        raise RefusedError(409, f"a namespace has at most {MOST} rules of its own; remove some with DELETE rules")


def _check_cassettes(rules: Sequence[Rule], cassettes: CassetteStore) -> None:
    """Refuse rules that name a cassette which is not there, or not in order."""
    try:
        check(rules, cassettes)
    except MockserverError as error:
        raise refused(error.mistakes) from error


def _missing(name: str, space: Namespace, others: Sequence[Rule]) -> str:
    filed = next((rule.where for rule in others if rule.name == name), None)
    if filed is not None:
        return f'the rule "{name[:120]}" stands in {filed}; only rules that were added can be removed'
    hint = did_you_mean(name, (rule.name for rule in space.rules))
    return f'there is no rule "{name[:120]}" that was added{hint}'
