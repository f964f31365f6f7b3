"""The server itself over HTTP: health, metrics, state, the cassette that is played, reset and reload.

No label of a metric holds text of a request, so that clients cannot fill the memory with names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, get_args

from starlette.responses import Response

from mockserver import __version__
from mockserver.config.errors import CassetteError, MockserverError
from mockserver.core.json import Json
from mockserver.engine.counters import ATTEMPT, START, STATE, TIMES
from mockserver.engine.offload import on_thread
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.live import reload
from mockserver.server.namespaces import ALL
from mockserver.server.replay import CassetteChoice, Player, Record
from mockserver.state.journal import BOUNDS, Journal, Tally, Way

if TYPE_CHECKING:
    from prometheus_client import Metric


async def health(asked: ControlRequest) -> Response:
    """That the server is alive."""
    return json_response({"status": "ok"})


async def ready(asked: ControlRequest) -> Response:
    """That it answers, and with what."""
    settings = asked.live.settings
    return json_response(
        {
            "status": "ready",
            "version": __version__,
            "dialect": settings.dialect,
            "unmatched": settings.unmatched,
            "files": [str(path) for path in asked.live.sources.files],
            "rules": len(asked.live.engine.rules),
        }
    )


async def shown(asked: ControlRequest) -> Response:
    """What is remembered of a namespace, or of each."""
    return json_response({"namespaces": [await _of(name, asked) for name in asked.namespaces]})


async def put(asked: ControlRequest) -> Response:
    """Set the state of the scenario."""
    state = asked.table("state").get("state")
    if not isinstance(state, str) or not state:
        raise RefusedError(400, 'the body must be {"state": "..."}, the state that rules ask for')
    namespace = await _in_use(asked)
    await asked.live.store.set(namespace, STATE, state)
    return json_response(await _of(namespace, asked))


async def timing(asked: ControlRequest) -> Response:
    """Let answers of a namespace take their time, or let them leave at once."""
    on = asked.table("on").get("on")
    if not isinstance(on, bool):
        raise RefusedError(400, 'the body must be {"on": true} or {"on": false}')
    namespace = await _in_use(asked)
    asked.live.namespaces.get(namespace).timed = on
    return json_response({"namespace": namespace, "timing": on})


async def reset(asked: ControlRequest) -> Response:
    """Forget all of a namespace, as if the server had just begun."""
    names = asked.namespaces
    for name in names:
        await asked.live.forget(name)
    return json_response({"reset": list(names)})


async def reload_files(asked: ControlRequest) -> Response:
    """Read the files again; rules that were added stay. A broken file changes nothing."""
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
    entries = await live.store.entries(name)
    rows = live.journal.rows(name)
    times, attempts = [
        {key.removeprefix(kind): int(value) for key, value in entries.items() if key.startswith(kind)}
        for kind in (TIMES, ATTEMPT)
    ]
    return {
        "namespace": name,
        "state": entries.get(STATE, START),
        "times": times,
        "attempts": attempts,
        "hits": dict(live.journal.hits(name)),
        "rules_added": len(space.rules),
        "timing": space.timed,
        "calls": len(rows),
        "open": sum(not row.ended for row in rows),
        "stored_answers": len(await live.engine.memory.shelf.values(name)),
    }


async def show_cassette(asked: ControlRequest) -> Response:
    """Which cassette a namespace plays; of all of them together, how often each episode was played or recorded."""
    if asked.namespace != ALL:
        return json_response(_cassette_json(asked, asked.namespace))
    hits = Counter[str]()
    for namespace in asked.namespaces:
        hits.update(asked.live.journal.hits(namespace))
    front = "cassette "  # the source of an answer that an episode gave
    return json_response({"played": {name.removeprefix(front): hits[name] for name in hits if name.startswith(front)}})


async def play_cassette(asked: ControlRequest) -> Response:
    """Play another one from now on; without `record`, as the settings record."""
    wanted, live = asked.table("name", "record"), asked.live
    name, record = wanted.get("name"), wanted.get("record", live.settings.record)
    if "name" not in wanted or not (name is None or (isinstance(name, str) and name)):
        raise RefusedError(400, 'the body must be {"name": "..."}, the cassette to play, or null for none')
    if record not in RECORDS:
        raise RefusedError(400, f'"record" must be one of {", ".join(RECORDS)}')
    try:
        chosen = await on_thread(partial(_chosen, live.player, name, record))
    except CassetteError as error:
        raise RefusedError(400, str(error.mistakes[0]), mistakes=error.mistakes[1:] and error.mistakes) from error
    return await _playing(asked, chosen.choice)


def _chosen(player: Player, name: str | None, record: Record) -> Player:
    if name is not None and record == "none" and not player.cassettes.exists(name):
        raise CassetteError(player.cassettes.missing(name, 'to record it, say "record": "once" as well'))
    return player.chosen(name, record)


async def unplay_cassette(asked: ControlRequest) -> Response:
    """Play the cassette of the settings again, if there is one."""
    return await _playing(asked, None)


async def _playing(asked: ControlRequest, choice: CassetteChoice | None) -> Response:
    namespace = await _in_use(asked)
    asked.live.namespaces.get(namespace).choice = choice
    return json_response(_cassette_json(asked, namespace))


def _cassette_json(asked: ControlRequest, namespace: str) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(namespace)
    tapes = space.engine(live.engine).tapes
    player = tapes if isinstance(tapes, Player) else live.player
    hits, library, unplayed = live.journal.hits(namespace), player.loaded, list[int]()
    if library is not None:
        unplayed = [*library.unread, *(entry.number for entry in library.entries if not hits[entry.reply.source])]
    return {
        "namespace": namespace,
        "name": player.choice.name,
        "record": player.choice.record,
        "own": space.choice is not None,
        "forwards": player.choice.forwards,
        "episodes": 0 if library is None else library.size,
        "unplayed": sorted(unplayed),
    }


RECORDS: tuple[str, ...] = get_args(Record)


Labels = tuple[str, ...]


async def metrics(asked: ControlRequest) -> Response:
    """All tallies since the start, in Prometheus's text format."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # an extra, and slow to import
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
    except ImportError as error:
        raise RefusedError(501, 'metrics need the extra "metrics": pip install "mockserver[metrics]"') from error
    registry = CollectorRegistry()
    registry.register(Tallies(asked.live.journal))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class Tallies:
    """What Prometheus collects from a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def collect(self) -> "Iterator[Metric]":
        """Every metric, summed up from the ways that requests went."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        tally, ways = self._journal.tally, self._journal.tally.ways.items()
        for name, words, labels, found in _counts(tally):
            counter = CounterMetricFamily(f"mockserver_{name}", words, labels=labels)
            totals = Counter[Labels]()
            for values, count in found:
                totals[values] += count
            for values, count in totals.items():
                counter.add_metric(values, count)
            yield counter
        whole, first = "Seconds until the last byte of an answer had left.", "Seconds until the first byte of its body."
        for name, words, rows in (
            ("request_seconds", whole, [(way, sums.durations, sums.elapsed) for way, sums in ways]),
            ("first_byte_seconds", first, [(way, sums.firsts, sums.first) for way, sums in ways]),
        ):
            histogram = HistogramMetricFamily(f"mockserver_{name}", words, labels=("dialect", "operation"))
            for values, (buckets, total) in _added(rows).items():
                histogram.add_metric(values, _cumulated(buckets), total)
            yield histogram
        for name, words, value in (
            ("open_requests", "Requests that are being answered now.", tally.open),
            ("journal_calls", "Calls that the journal keeps.", len(self._journal)),
            ("journal_bytes", "Bytes that they take, about.", self._journal.size),
        ):
            yield GaugeMetricFamily(f"mockserver_{name}", words, value=value)


def _counts(tally: Tally) -> "Iterator[tuple[str, str, Labels, Iterable[tuple[Labels, int]]]]":
    """The name of each counter, its words, the names of its labels, and what is counted for their values."""
    rows = [(way, sums, way.source.partition(" ")[0] or "none") for way, sums in tally.ways.items()]
    yield (
        *("requests", "Requests that were answered, by where the answer came from."),
        ("dialect", "operation", "status", "source"),
        [((way.dialect, way.operation or "none", str(way.status), kind), sums.count) for way, sums, kind in rows],
    )
    yield "ended", "How answers ended.", ("ended",), [((way.ended,), sums.count) for way, sums, _ in rows]
    yield "faults", "Faults of answers.", ("fault",), [((name,), count) for name, count in tally.faults.items()]
    hits = [((way.source.removeprefix("rule "),), sums.count) for way, sums, kind in rows if kind == "rule"]
    yield "rule_hits", "Answers that each rule gave.", ("rule",), hits
    tokens = {"prompt": sum(sums.prompt for _, sums, _ in rows), "completion": sum(s.completion for _, s, _ in rows)}
    yield "tokens", "Tokens of prompts and completions.", ("kind",), [((kind,), sum_) for kind, sum_ in tokens.items()]


def _added(rows: Iterable[tuple[Way, Sequence[int], float]]) -> Mapping[Labels, tuple[Sequence[int], float]]:
    found: dict[Labels, tuple[Sequence[int], float]] = {}
    for way, more, seconds in rows:
        labels = (way.dialect, way.operation or "none")
        buckets, total = found.get(labels, ((0,) * len(more), 0.0))
        found[labels] = [one + other for one, other in zip(buckets, more, strict=True)], total + seconds
    return found


def _cumulated(buckets: Iterable[int]) -> list[tuple[str, float]]:
    """Prometheus counts in each bucket those of the smaller ones too."""
    names = (*map(str, BOUNDS), "+Inf")
    return [(name, float(count)) for name, count in zip(names, accumulate(buckets), strict=True)]
