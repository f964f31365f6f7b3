"""What was counted, for Prometheus.

No label of a metric holds text of a request, so that clients cannot fill the memory with names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.responses import Response

from mockserver.config.errors import explain_extra
from mockserver.server.control.fleet import View, gather, list_servers
from mockserver.server.control.requests import ControlRequest, RefusedError
from mockserver.state.journal import Journal
from mockserver.state.tally import BOUNDS, Histogram, Sums, Tally

if TYPE_CHECKING:
    from prometheus_client import Metric

    from mockserver.server.fleet import RedisFleet

Labels = tuple[str, ...]


async def show_metrics(request: ControlRequest) -> Response:
    """Return metrics for Prometheus."""
    live = request.live
    if request.group not in (None, live.made_token):  # a server of another group is asked itself
        return Response(status_code=204)
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # an extra, and slow to import
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
    except ImportError as error:
        raise RefusedError(501, f"the package prometheus-client is missing; {explain_extra('metrics')}") from error
    registry = CollectorRegistry()
    registry.register(JournalCollector(live.journal))
    text = generate_latest(registry)
    if live.fleet is not None:
        text = _label_series(text, live.fleet.slot)
    elif live.worker is not None:
        text = _label_series(text, live.worker.number)
        text += b"# Of this worker only: without shared state, workers do not know each other.\n"
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _label_series(text: bytes, worker: int) -> bytes:
    """Give every series a label for the worker."""
    label = b'worker="%d"' % worker
    more = lambda found: found[1] + b"{" + label + (b"," if found[2] else b"}") + found[3]  # noqa: E731
    return re.sub(rb"(?m)^(\w+)(\{?)(.*)$", more, text)


async def show_fleet_metrics(_: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Return every series of every server of the group once, each family with its description before it."""
    found = await gather(request, fleet)
    if isinstance(found, Response):
        return found
    families = dict[str, list[str]]()
    for text in found.bodies:
        name = ""
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split()[2]
            listed = families.setdefault(name, [])
            if not (line.startswith("#") and line in listed):
                listed.append(line)
    remarks = [f"# {name}: {list_servers(slots)}" for name, slots in found.left_out.items()]
    lines = (*remarks, *(line for listed in families.values() for line in listed))
    return Response("\n".join(lines) + "\n", media_type=found.kind)


class JournalCollector:
    """Yields what a journal has counted as metrics of Prometheus."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        tally = self._journal.tally
        for each in _list_counters(tally):
            counter = CounterMetricFamily(f"mockserver_{each.name}", each.words, labels=each.labels)
            totals = Counter[Labels]()
            for values, count in each.found:
                totals[values] += count
            for values, count in sorted(totals.items()):
                counter.add_metric(values, count)
            yield counter
        groups = defaultdict[Labels, list[Sums]](list)
        for (dialect, operation, *_), sums in tally.ways.items():
            groups[dialect, operation or "none"].append(sums)
        for name, words, find_times in _TIMES:
            histogram = HistogramMetricFamily(f"mockserver_{name}", words, labels=("dialect", "operation"))
            for values, group in sorted(groups.items()):
                times = list(map(find_times, group))
                counts = [sum([each.buckets[at] for each in times]) for at in range(len(_BUCKETS))]
                reached = map(float, accumulate(counts))  # each with those of the smaller ones
                seconds = sum([each.seconds for each in times])
                histogram.add_metric(values, list(zip(_BUCKETS, reached, strict=True)), seconds)
            yield histogram
        for name, words, value in (
            ("open_requests", "Requests that are being answered.", self._journal.open_calls),
            ("journal_calls", "Calls that the journal keeps.", len(self._journal)),
            ("journal_bytes", "Bytes that these calls take, approximately.", self._journal.held),
        ):
            yield GaugeMetricFamily(f"mockserver_{name}", words, value=value)


class _Counted(Struct, frozen=True, kw_only=True):
    """A counter: its name, what it counts, the names of its labels, and counts for values of these."""

    name: str
    words: str
    labels: Labels
    found: Iterable[tuple[Labels, int]]


def _list_counters(tally: Tally) -> Iterator[_Counted]:
    ways = tally.ways.items()
    sums = tally.ways.values()
    kinds = [
        ((dialect, operation or "none", str(status), _find_kind(source)), each.count)
        for (dialect, operation, status, source, _), each in ways
    ]
    labels = ("dialect", "operation", "status", "source")
    yield _Counted(name="requests", words="Answered requests, by the source of the answer.", labels=labels, found=kinds)
    ends = [((way[-1],), sums.count) for way, sums in ways]
    yield _Counted(name="ended", words="How answers ended.", labels=("ended",), found=ends)
    faults = [((name,), count) for name, count in tally.faults.items()]
    yield _Counted(name="faults", words="Faults of answers.", labels=("fault",), found=faults)
    hits = [((way[3].removeprefix("rule "),), sums.count) for way, sums in ways if _find_kind(way[3]) == "rule"]
    yield _Counted(name="rule_hits", words="Answers that each rule gave.", labels=("rule",), found=hits)
    tokens = {"prompt": sum(each.prompt for each in sums), "completion": sum(each.completion for each in sums)}
    used = [((kind,), total) for kind, total in tokens.items()]
    yield _Counted(name="tokens", words="Tokens of prompts and completions.", labels=("kind",), found=used)


def _find_kind(source: str) -> str:
    return source.partition(" ")[0] or "none"


_WHOLE = "Seconds until the last byte of an answer had left."
_FIRST = "Seconds until the first byte of its body."
_TIMES: Sequence[tuple[str, str, Callable[[Sums], Histogram]]] = (
    ("request_seconds", _WHOLE, lambda sums: sums.elapsed),
    ("first_byte_seconds", _FIRST, lambda sums: sums.first),
)
_BUCKETS = (*map(str, BOUNDS), "+Inf")
