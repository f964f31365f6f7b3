"""What was served, summed up by the way that it went."""

from mockserver.core.action import Fault
from mockserver.core.exchange import Exchange
from mockserver.core.plan import Plan, Rendered, Usage
from mockserver.state.journal import BOUNDS, MOST_SOURCES, OTHER, Tally, Way


def closed(
    source: str = "generated", *faults: str, elapsed: float = 0.0, first: float = 0.0, size: int = 0
) -> Exchange:
    exchange = Exchange(1, "POST", "/v1/chat/completions", "openai", "default")
    exchange.operation, exchange.status, exchange.ended = "chat", 200, "complete"
    exchange.elapsed, exchange.first, exchange.size = elapsed, first, size
    exchange.plan = Plan(Rendered(Usage(3, 4)), source, faults=tuple(map(Fault, faults)))
    return exchange


def test_requests_that_went_the_same_way_are_one_sum() -> None:
    tally = Tally()
    tally.open = 2
    tally.add(closed(elapsed=0.002, first=0.001, size=5))
    tally.add(closed(elapsed=100.0))
    ((way, sums),) = tally.ways.items()
    assert way == Way("openai", "chat", 200, "generated", "complete")
    assert (sums.count, sums.prompt, sums.completion, sums.elapsed, sums.first) == (2, 6, 8, 100.002, 0.001)
    assert (sums.durations[1], sums.durations[-1], sum(sums.durations)) == (1, 1, 2)
    assert (sums.firsts[0], sum(sums.firsts), len(sums.firsts)) == (1, 1, len(BOUNDS) + 1)
    assert tally.open == 0


def test_faults_are_counted_by_name() -> None:
    tally, exchange = Tally(), closed("generated", "cut", "slow")
    tally.add(exchange)
    tally.add(exchange)
    assert tally.faults == {"cut": 2, "slow": 2}


def test_rules_without_end_become_others() -> None:
    tally = Tally()
    for number in range(MOST_SOURCES + 50):
        tally.add(closed(f"rule api {number}"))
    tally.add(closed("rule api 0"))
    sources = {way.source: sums.count for way, sums in tally.ways.items()}
    assert len(sources) == MOST_SOURCES + 1
    assert (sources["rule api 0"], sources[OTHER]) == (2, 50)
