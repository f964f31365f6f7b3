"""The server over HTTP: health, rules, state, the cassette that is played, reset, reload and metrics.

No label of a metric holds text of a request, so that clients cannot fill the memory with names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace
from starlette.responses import Response

from mockserver import __version__
from mockserver.cassettes.cassette import Cassette, CassetteEntry
from mockserver.config.errors import CassetteError, Mistake, MockserverError, SourceLocation
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.timing import Profiles
from mockserver.core.json import Json
from mockserver.core.protocols import START, STATE, TIMES, StateLostError
from mockserver.core.text import truncate
from mockserver.dialects import client_configs
from mockserver.engine.counters import ATTEMPT, select_counters
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import check_cassettes
from mockserver.server.client_environment import bare_url, base_url
from mockserver.server.control.feed import problem
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.live import ADDED, ALL, Live, Namespace, reload, shown_settings
from mockserver.server.player import CassetteChoice, Player, Record
from mockserver.server.sources import compiled
from mockserver.state.journal import BOUNDS, Journal, Sums, Tally

if TYPE_CHECKING:
    from prometheus_client import Metric


async def health(asked: ControlRequest) -> Response:
    """Return `{"status": "ok"}` while the server runs."""
    return json_response({"status": "ok"})


async def ready(asked: ControlRequest) -> Response:
    """Return what runs here: version, files, number of rules; with the token more."""
    settings = asked.live.settings
    return json_response(
        {
            "status": "ready",
            "version": __version__,
            "dialect": settings.dialect,
            "unmatched": asked.live.engine.policy.unmatched,
            "files": [path.name for path in asked.live.sources.files],
            "rules": len(asked.live.engine.rules),
            "state": "memory" if asked.live.line is None else "lost" if asked.live.lost else "ok",
            **(_inside(asked) if asked.trusted else {}),
        }
    )


def _inside(asked: ControlRequest) -> dict[str, Json]:
    """What only those with the token may know."""
    live, journal = asked.live, asked.live.journal
    default = live.settings.dialect
    bases = [(default, bare_url(asked.address, default))]
    bases += [(name, base_url(asked.address, name)) for name in client_configs()]
    return {
        "files": [str(path) for path in live.sources.files],
        "boot": asked.rows.boot,
        "bases": [{"dialect": name, "url": url} for name, url in bases],
        "settings": shown_settings(live.settings),
        "journal": {"calls": len(journal), "bytes": journal.held, "room": journal.room},
        "problem": problem(live.problem),
        "writes": live.settings.inspector_writes and bool(live.sources.files),
    }


async def shown(asked: ControlRequest) -> Response:
    """Return the scenario's state, used `times`, attempts and hits."""
    return json_response({"namespaces": [await _of(name, asked) for name in asked.namespaces]})


async def put(asked: ControlRequest) -> Response:
    """Set the scenario's state."""
    state = asked.table("state").get("state")
    if not isinstance(state, str) or not state:
        raise RefusedError(400, 'the body must be {"state": "..."}, the state that rules ask for')
    namespace = await _in_use(asked)
    await asked.live.counters.set_state(namespace, state)
    return json_response(await _of(namespace, asked))


async def timing(asked: ControlRequest) -> Response:
    """Send answers at once, or as timed."""
    on = asked.table("on").get("on")
    if not isinstance(on, bool):
        raise RefusedError(400, 'the body must be {"on": true} or {"on": false}')
    namespace = asked.one_namespace
    async with asked.live.change(namespace) as space:
        space.timed = on
    return json_response({"namespace": namespace, "timing": on})


async def reset(asked: ControlRequest) -> Response:
    """Clear a namespace: added rules, cassette, counters, state, stored answers, limits, calls."""
    names = asked.namespaces
    for name in names:
        await asked.live.forget(name)
    return json_response({"reset": list(names)})


async def reload_files(asked: ControlRequest) -> Response:
    """Read the files again; an invalid file changes nothing and is reported."""
    try:
        waiting = await reload(asked.live, asked.live.sources)
    except MockserverError as error:
        words = f"not reloaded, the rules before still hold: {error.mistakes[0]}"
        raise RefusedError(400, words, mistakes=error.mistakes) from error
    return json_response({"rules": len(asked.live.engine.rules), "at_next_start": list(waiting)})


async def _in_use(asked: ControlRequest) -> str:
    namespace = asked.one_namespace
    asked.live.namespaces.touch(namespace)
    await asked.live.forget_evicted()
    return namespace


async def _of(name: str, asked: ControlRequest) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(name)
    rows = live.journal.rows(name)
    return {
        "namespace": name,
        **await _counted(name, live),
        "hits": dict(live.journal.hits(name)),
        "rules_added": len(space.rules),
        "timing": space.timed,
        "calls": len(rows),
        "open": sum(not row.ended for row in rows),
    }


async def _counted(name: str, live: Live) -> dict[str, Json]:
    """What may be shared with other servers: null while that is out of reach."""
    try:
        entries, stored = await live.counters.entries(name), await live.engine.memory.shelf.count(name)
    except StateLostError:
        return dict.fromkeys(("state", "times", "attempts", "stored_answers"))
    times, attempts = [
        {key.removeprefix(kind): int(value) for key, value in entries.items() if key.startswith(kind)}
        for kind in (TIMES, ATTEMPT)
    ]
    return {"state": entries.get(STATE, START), "times": times, "attempts": attempts, "stored_answers": stored}


async def show_cassette(asked: ControlRequest) -> Response:
    """Return the cassette in use; for all namespaces, uses of each episode."""
    if asked.namespace != ALL:
        return json_response(_cassette_json(asked, asked.namespace))
    hits = Counter[str]()
    for namespace in asked.namespaces:
        hits.update(asked.live.journal.hits(namespace))
    front = "cassette "  # the source of an answer that an episode gave
    return json_response({"played": {name.removeprefix(front): hits[name] for name in hits if name.startswith(front)}})


async def play_cassette(asked: ControlRequest) -> Response:
    """Use another cassette in this namespace, in a record mode."""
    wanted, live = asked.table("name", "record"), asked.live
    name, record = wanted.get("name"), wanted.get("record", live.settings.record)
    if "name" not in wanted or not (name is None or (isinstance(name, str) and name)):
        raise RefusedError(400, 'the body must be {"name": "..."}, the cassette to play, or null for none')
    if record not in RECORDS:
        raise RefusedError(400, f'"record" must be one of {", ".join(RECORDS)}')
    try:
        chosen = await on_thread(_chosen, live.player, name, record)
    except CassetteError as error:
        raise RefusedError(400, str(error.mistakes[0]), mistakes=error.mistakes[1:] and error.mistakes) from error
    if asked.live.fleet is not None and record != "none":
        raise RefusedError(409, 'servers that share a state do not record; leave "record" out')
    return await _playing(asked, chosen.choice)


def _chosen(player: Player, name: str | None, record: Record) -> Player:
    if name is not None and record == "none" and not player.store.exists(name):
        raise CassetteError(player.store.explain_missing(name, 'to record it, say "record": "once" as well'))
    return player.choose(name, record)


async def unplay_cassette(asked: ControlRequest) -> Response:
    """Return to the cassette of the settings."""
    return await _playing(asked, None)


async def _playing(asked: ControlRequest, choice: CassetteChoice | None) -> Response:
    namespace = asked.one_namespace
    async with asked.live.change(namespace) as space:
        space.choice = choice
    return json_response(_cassette_json(asked, namespace))


def _cassette_json(asked: ControlRequest, namespace: str) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(namespace)
    own = space.engine(live.engine).player
    player = own if isinstance(own, Player) else live.player
    hits, cassette, unplayed = live.journal.hits(namespace), player.cassette, list[int]()
    if cassette is not None:
        unplayed = [*cassette.refused, *(entry.number for entry in cassette.entries if not hits[entry.reply.source])]
    return {
        "namespace": namespace,
        "name": player.choice.name,
        "record": player.choice.record,
        "own": space.choice is not None,
        "forwards": player.choice.forwards,
        "episodes": 0 if cassette is None else cassette.size,
        "unplayed": sorted(unplayed),
    }


async def list_episodes(asked: ControlRequest) -> Response:
    """List episodes of the cassette in use."""
    live, name = asked.live, asked.one_namespace
    own = live.namespaces.get(name).engine(live.engine).player
    cassette = (own if isinstance(own, Player) else live.player).cassette
    after, limit = asked.number("after") or 0, asked.number("limit") or _EPISODES
    entries = [] if cassette is None else [entry for entry in cassette.entries if entry.number > after][:limit]
    hits = live.journal.hits(name)
    return json_response({"episodes": await on_thread(lambda: [_episode(entry, cassette, hits) for entry in entries])})


def _episode(entry: CassetteEntry, cassette: Cassette | None, hits: Mapping[str, int]) -> dict[str, Json]:
    reply, call = entry.reply, None if cassette is None else cassette.parse(entry.episode)
    asked = "" if call is None else call.last_user or next((prompt.text for prompt in call.prompts), "")
    return {
        "number": entry.number,
        "source": reply.source,
        "asked": truncate(asked, 160),
        "status": reply.status,
        "frames": None if reply.frames is None else len(reply.frames),
        "played": hits.get(reply.source, 0),
    }


_EPISODES = 200  # that are listed if no limit is given


RECORDS: tuple[str, ...] = get_args(Record)


def rules_of(asked: ControlRequest, named: int) -> tuple[tuple[Rule, ...], int]:
    """The rules of the body, and how many names they got, after `named` before. Raises RefusedError."""
    document, given = _named(_document(asked), named)
    profiles = asked.live.settings.profiles
    try:
        rules = compiled((document,), profiles)
        check_cassettes((document,), asked.live.player.store)
    except MockserverError as error:
        raise refused(_placed(document, error, profiles)) from error
    if not rules:
        words = 'there is no rule in the body; send {"rules": [{"when": {...}, "then": {...}}]}, or one rule'
        raise RefusedError(400, words)
    return rules, given


def refused(mistakes: Sequence[Mistake], status: int = 400) -> RefusedError:
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return RefusedError(status, f"nothing was added: {mistakes[0]}{more}", mistakes=mistakes)


class _JsonPath(SourceLocation, frozen=True):
    def __str__(self) -> str:
        return self.file

    where = property(__str__)


class _Outline(Document, frozen=True):
    """A document without lines: places are paths."""

    def find_place(self, path: Path, *, key: bool = False) -> SourceLocation:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return _JsonPath("".join(steps).removeprefix(".") or "the body", 0, 0)


def _document(asked: ControlRequest) -> Document:
    try:
        document = (
            read(asked.body, ADDED, MOST_VALUES) if "yaml" in asked.kind else Document.from_data(asked.content(), ADDED)
        )
    except MockserverError as error:
        raise refused(error.mistakes) from error
    data = document.data
    if isinstance(data, Mapping) and "rules" not in data and {"name", "when", "then"} & data.keys():
        return Document.from_data({"rules": [data]}, ADDED)
    if isinstance(data, Mapping) and data.get("settings"):
        raise RefusedError(400, 'settings belong in a file or in flags; take "settings" out of the body')
    return document


def _named(document: Document, named: int) -> tuple[Document, int]:
    """The same with a name for each rule, by which it can be removed; and how many names were given."""
    listed = document.data.get("rules") if isinstance(document.data, Mapping) else None
    if not isinstance(listed, list):
        return document, 0
    if len(listed) > MOST:
        raise RefusedError(409, f"a namespace has at most {MOST} rules of its own, and the body holds {len(listed)}")
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
            compiled((_Outline(document.data, ADDED),), profiles)
        except MockserverError as again:
            return again.mistakes
    return error.mistakes


MOST = 10_000  # rules that a namespace may have of its own
MOST_VALUES = 100_000  # of the YAML of one request: texts, numbers, lists and tables


async def add_rules(asked: ControlRequest) -> Response:
    """Add rules in front of all others: all, or none if one has a mistake."""
    live, name, replaces = asked.live, asked.one_namespace, asked.switch("replace")
    async with live.changing:
        rules, named = await on_thread(rules_of, asked, live.namespaces.get(name).named)
        _check_names(rules, live.namespaces.get(name), live.engine.rules, replace=replaces)
        names = [rule.name for rule in rules]
        own = frozenset(names)
        async with live.change(name) as space:
            gone = [rule for rule in space.rules if rule.name in own]
            space.named += named
            space.rules = (*rules, *(rule for rule in space.rules if rule.name not in own))
            await _uncount(asked, space, gone)
        await on_thread(space.engine, live.engine)  # indexes the rules, which the next call needs
        return json_response({"names": names, "rules": len(space.rules) + len(live.engine.rules)}, 201)


async def remove_rule(asked: ControlRequest) -> Response:
    """Remove an added rule."""
    space = asked.live.namespaces.get(asked.one_namespace)
    if not any(rule.name == asked.item for rule in space.rules):
        raise RefusedError(404, _missing(asked.item, space, asked.live.engine.rules))
    return await _removed(asked, {asked.item})


async def remove_rules(asked: ControlRequest) -> Response:
    """Remove all added rules."""
    return await _removed(asked, None)


async def _removed(asked: ControlRequest, names: Container[str] | None) -> Response:
    """Remove the rules of these names; None: all."""
    async with asked.live.change(asked.one_namespace) as space:
        gone = [rule for rule in space.rules if names is None or rule.name in names]
        space.rules = tuple(rule for rule in space.rules if names is not None and rule.name not in names)
        await _uncount(asked, space, gone)
    return json_response({"removed": [rule.name for rule in gone]})


async def _uncount(asked: ControlRequest, space: Namespace, rules: Iterable[Rule]) -> None:
    """Reset the counters of removed rules: one that is added again by the same name starts over."""
    live, namespace = asked.live, asked.namespace
    counted, gone = await live.counters.entries(namespace), list[str]()
    for rule in rules:
        if live.fleet is None:
            live.journal.forget_hits(namespace, rule.source)
        if rule.counts or rule.then.order_dependent:
            gone += select_counters(rule.name, counted)
    if live.fleet is None:
        await live.counters.forget(namespace, gone)
    else:
        space.forgotten = tuple(gone)  # in one step with the change


def _check_names(rules: Sequence[Rule], space: Namespace, others: Sequence[Rule], *, replace: bool) -> None:
    own, filed = {rule.name for rule in space.rules}, {rule.name: rule.where for rule in others}
    found = [(rule.name, f" at {filed[rule.name]}") for rule in rules if rule.name in filed]
    if not replace:
        added = " by a rule that was added; use ?replace=true to replace it"
        found += [(rule.name, added) for rule in rules if rule.name in own]
    taken = [f'the name "{name}" is already used{words}' for name, words in found]
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


Labels = tuple[str, ...]


async def metrics(asked: ControlRequest) -> Response:
    """Return metrics for Prometheus."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # an extra, and slow to import
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
    except ImportError as error:
        raise RefusedError(501, 'metrics need the extra "metrics": pip install "mockserver-llm[metrics]"') from error
    registry = CollectorRegistry()
    registry.register(Tallies(asked.live.journal))
    text = generate_latest(registry)
    live = asked.live
    if live.fleet is not None:
        text = _labelled(text, live.fleet.slot)
    elif live.worker is not None:
        text = _labelled(text, live.worker.number) + b"# Only of this worker: without shared state it knows no other.\n"
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _labelled(text: bytes, worker: int) -> bytes:
    """Every series with a label for the worker."""
    label = b'worker="%d"' % worker
    more = lambda found: found[1] + b"{" + label + (b"," if found[2] else b"}") + found[3]  # noqa: E731
    return re.sub(rb"(?m)^(\w+)(\{?)(.*)$", more, text)


class Tallies:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        tally = self._journal.tally
        for name, words, labels, found in _counts(tally):
            counter = CounterMetricFamily(f"mockserver_{name}", words, labels=labels)
            totals = Counter[Labels]()
            for values, count in found:
                totals[values] += count
            for values, count in totals.items():
                counter.add_metric(values, count)
            yield counter
        groups = defaultdict[Labels, list[Sums]](list)
        for (dialect, operation, *_), sums in tally.ways.items():
            groups[dialect, operation or "none"].append(sums)
        for name, words, taken in _TIMES:
            histogram = HistogramMetricFamily(f"mockserver_{name}", words, labels=("dialect", "operation"))
            for values, group in groups.items():
                buckets, seconds = zip(*map(taken, group), strict=True)
                counts = accumulate(map(sum, zip(*buckets, strict=True)))  # each with those of the smaller ones
                histogram.add_metric(values, list(zip(_BUCKETS, map(float, counts), strict=True)), sum(seconds))
            yield histogram
        for name, words, value in (
            ("open_requests", "Requests that are being answered now.", tally.open),
            ("journal_calls", "Calls that the journal keeps.", len(self._journal)),
            ("journal_bytes", "Bytes that they take, about.", self._journal.held),
        ):
            yield GaugeMetricFamily(f"mockserver_{name}", words, value=value)


def _counts(tally: Tally) -> "Iterator[tuple[str, str, Labels, Iterable[tuple[Labels, int]]]]":
    """The name of each counter, its words, the names of its labels, and what is counted for their values."""
    ways, sums = tally.ways.items(), tally.ways.values()
    kinds = [
        ((dialect, operation or "none", str(status), _kind(source)), each.count)
        for (dialect, operation, status, source, _), each in ways
    ]
    labels = ("dialect", "operation", "status", "source")
    yield "requests", "Requests that were answered, by where the answer came from.", labels, kinds
    yield "ended", "How answers ended.", ("ended",), [((way[-1],), sums.count) for way, sums in ways]
    yield "faults", "Faults of answers.", ("fault",), [((name,), count) for name, count in tally.faults.items()]
    hits = [((way[3].removeprefix("rule "),), sums.count) for way, sums in ways if _kind(way[3]) == "rule"]
    yield "rule_hits", "Answers that each rule gave.", ("rule",), hits
    tokens = {"prompt": sum(each.prompt for each in sums), "completion": sum(each.completion for each in sums)}
    yield "tokens", "Tokens of prompts and completions.", ("kind",), [((kind,), sum_) for kind, sum_ in tokens.items()]


def _kind(source: str) -> str:
    return source.partition(" ")[0] or "none"


_WHOLE, _FIRST = "Seconds until the last byte of an answer had left.", "Seconds until the first byte of its body."
_TIMES: Sequence[tuple[str, str, Callable[[Sums], tuple[Sequence[int], float]]]] = (
    ("request_seconds", _WHOLE, lambda sums: (sums.durations, sums.elapsed)),
    ("first_byte_seconds", _FIRST, lambda sums: (sums.firsts, sums.first)),
)
_BUCKETS = (*map(str, BOUNDS), "+Inf")
