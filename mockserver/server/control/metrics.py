"""The tallies for Prometheus. No label holds what a request says, so that nobody can fill the memory with names."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.responses import Response

from mockserver.server.control.requests import Asked, RefusedError
from mockserver.state.journal import Journal
from mockserver.state.tally import BOUNDS, Sums, Way

if TYPE_CHECKING:
    from prometheus_client import Metric

Labels = tuple[str, ...]


async def metrics(asked: Asked) -> Response:
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
