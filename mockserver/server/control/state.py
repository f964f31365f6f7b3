"""The server itself over HTTP: health, metrics, state, the cassette that is played, reset and reload.

No label of a metric holds text of a request, so that clients cannot fill the memory with names.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, get_args

from starlette.responses import Response

from mockserver import __version__
from mockserver.config.errors import CassetteError, MockserverError
from mockserver.core.json import Json
from mockserver.engine.counters import ATTEMPT, START, STATE, TIMES
from mockserver.engine.offload import aside
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.live import reload
from mockserver.server.namespaces import ALL
from mockserver.server.replay import CassetteChoice, Player, Record
from mockserver.state.journal import BOUNDS, Journal, Sums, Way

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
    return {
        "namespace": name,
        "state": entries.get(STATE, START),
        "times": _counted(entries, TIMES),
        "attempts": _counted(entries, ATTEMPT),
        "hits": dict(live.journal.hits(name)),
        "rules_added": len(space.rules),
        "timing": space.timed,
        "calls": len(rows),
        "open": sum(not row.ended for row in rows),
        "stored_answers": len(await live.engine.memory.shelf.values(name)),
    }


def _counted(entries: Mapping[str, str], kind: str) -> dict[str, int]:
    return {key.removeprefix(kind): int(value) for key, value in entries.items() if key.startswith(kind)}


async def show_cassette(asked: ControlRequest) -> Response:
    """Which cassette a namespace plays; of all of them together, how often each episode was played or recorded."""
    if asked.namespace == ALL:
        return json_response({"played": _played(asked)})
    return json_response(_cassette_json(asked, asked.one_namespace))


def _played(asked: ControlRequest) -> dict[str, int]:
    hits = Counter[str]()
    for namespace in asked.namespaces:
        hits.update(asked.live.journal.hits(namespace))
    return {source.removeprefix(_SOURCE): count for source, count in hits.items() if source.startswith(_SOURCE)}


async def play_cassette(asked: ControlRequest) -> Response:
    """Play another one from now on; where `record` is not said, as the settings record."""
    wanted, live = asked.table("name", "record"), asked.live
    name, record = wanted.get("name"), wanted.get("record", live.settings.record)
    if "name" not in wanted or not (name is None or (isinstance(name, str) and name)):
        raise RefusedError(400, 'the body must be {"name": "..."}, the cassette to play, or null for none')
    if record not in RECORDS:
        raise RefusedError(400, f'"record" must be one of {", ".join(RECORDS)}')
    try:
        chosen = await aside(partial(_chosen, live.player, name, record))
    except CassetteError as error:
        raise RefusedError(400, str(error.mistakes[0]), mistakes=error.mistakes[1:] and error.mistakes) from error
    return json_response(_cassette_json(asked, await _playing(asked, chosen.choice)))


def _chosen(player: Player, name: str | None, record: Record) -> Player:
    if name is not None and record == "none" and not player.cassettes.exists(name):
        raise CassetteError(player.cassettes.missing(name, _RECORD))
    return player.chosen(name, record)


async def unplay_cassette(asked: ControlRequest) -> Response:
    """Play the cassette of the settings again, if there is one."""
    return json_response(_cassette_json(asked, await _playing(asked, None)))


async def _playing(asked: ControlRequest, choice: CassetteChoice | None) -> str:
    namespace, live = asked.one_namespace, asked.live
    live.namespaces.touch(namespace).play(choice)
    await live.forget_evicted()
    return namespace


def _cassette_json(asked: ControlRequest, namespace: str) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(namespace)
    tapes = space.engine(live.engine).tapes
    player = tapes if isinstance(tapes, Player) else live.player
    name, record = player.choice.name, player.choice.record
    hits = live.journal.hits(namespace)
    library = None if name is None else player.cassettes.get(name)
    numbers = [] if library is None else [entry.number for entry in library.entries if not hits[entry.reply.source]]
    return {
        "namespace": namespace,
        "name": name,
        "record": record,
        "own": space.choice is not None,
        "forwards": player.choice.forwards,
        "episodes": 0 if library is None else library.size,
        "unplayed": sorted((*numbers, *(() if library is None else library.unread))),
    }


RECORDS: tuple[str, ...] = get_args(Record)
_SOURCE = "cassette "  # and an episode: what an answer of a cassette comes from
_RECORD = 'to record it, say "record": "once" as well'


Labels = tuple[str, ...]


async def metrics(asked: ControlRequest) -> Response:
    """All tallies since the start, in the text format."""
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
        tally, ways = self._journal.tally, self._journal.tally.ways
        yield _counter(
            "requests", "Requests that were answered, by where the answer came from.", _LABELS, _requests(ways)
        )
        yield _counter("ended", "How answers ended.", ("ended",), _ended(ways))
        yield _counter("faults", "Faults that befell answers.", ("fault",), _labelled(tally.faults))
        yield _counter("rule_hits", "Answers that each rule gave.", ("rule",), _hits(ways))
        yield _counter("tokens", "Tokens of prompts and completions.", ("kind",), _tokens(ways))
        words = "Seconds until the last byte of an answer had left."
        yield _histogram("request_seconds", words, ways, lambda sums: (sums.durations, sums.elapsed))
        words = "Seconds until the first byte of an answer's body left."
        yield _histogram("first_byte_seconds", words, ways, lambda sums: (sums.firsts, sums.first))
        yield _gauge("open_requests", "Requests that are being answered now.", tally.open)
        yield _gauge("journal_calls", "Calls that the journal keeps.", len(self._journal))
        yield _gauge("journal_bytes", "Bytes that they take, about.", self._journal.size)


def _requests(ways: dict[Way, Sums]) -> "Counter[Labels]":
    found = Counter[Labels]()
    for way, sums in ways.items():
        found[way.dialect, way.operation or "none", str(way.status), _kind(way)] += sums.count
    return found


def _ended(ways: dict[Way, Sums]) -> "Counter[Labels]":
    found = Counter[Labels]()
    for way, sums in ways.items():
        found[(way.ended,)] += sums.count
    return found


def _hits(ways: dict[Way, Sums]) -> "Counter[Labels]":
    found = Counter[Labels]()
    for way, sums in ways.items():
        if _kind(way) == "rule":
            found[(way.source.removeprefix("rule "),)] += sums.count
    return found


def _tokens(ways: dict[Way, Sums]) -> "Counter[Labels]":
    sums = ways.values()
    return Counter({("prompt",): sum(s.prompt for s in sums), ("completion",): sum(s.completion for s in sums)})


def _labelled(counts: "Counter[str]") -> "Counter[Labels]":
    return Counter({(name,): count for name, count in counts.items()})


def _kind(way: Way) -> str:
    """The kind of a source: rule, generated, invalid...; none where the client left before there was any."""
    return way.source.partition(" ")[0] or "none"


def _counter(name: str, words: str, labels: Labels, counts: "Counter[Labels]") -> "Metric":
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"mockserver_{name}", words, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family


def _gauge(name: str, words: str, value: int) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"mockserver_{name}", words, value=value)


def _histogram(
    name: str, words: str, ways: dict[Way, Sums], read: Callable[[Sums], tuple[Sequence[int], float]]
) -> "Metric":
    from prometheus_client.core import HistogramMetricFamily

    found: dict[Labels, tuple[list[int], float]] = {}
    for way, sums in ways.items():
        labels: Labels = (way.dialect, way.operation or "none")
        buckets, total = found.get(labels, ([0] * (len(BOUNDS) + 1), 0.0))
        more, seconds = read(sums)
        found[labels] = ([one + other for one, other in zip(buckets, more, strict=True)], total + seconds)
    family = HistogramMetricFamily(f"mockserver_{name}", words, labels=("dialect", "operation"))
    for values, (buckets, total) in found.items():
        family.add_metric(values, _cumulated(buckets), total)
    return family


def _cumulated(buckets: Iterable[int]) -> list[tuple[str, float]]:
    """Prometheus counts in each bucket those of the smaller ones too."""
    names = (*map(str, BOUNDS), "+Inf")
    return [(name, float(count)) for name, count in zip(names, accumulate(buckets), strict=True)]


_LABELS = ("dialect", "operation", "status", "source")
