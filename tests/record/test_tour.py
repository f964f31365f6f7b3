"""The tape that ships is what the server answers today, plays byte for byte, and is read by the official clients."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from mockserver.cassettes.redaction.redact import REPLY
from mockserver.cassettes.store import CassetteFile
from mockserver.cassettes.verify import DAY, Checks, findings
from tests.kit.program import run
from tests.kit.served import served
from tests.record.tour import KEY, KIMI, RULES, SHIPPED, TOUR, Got, ask, player, record, renewed


@dataclass(frozen=True)
class Made:
    """A tape that was recorded just now, what its upstream says by itself, and what was passed on of it."""

    tape: Path
    live: list[Got]
    relayed: list[Got]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("cassettes")
    with served(RULES) as upstream:
        return Made(folder / SHIPPED.name, ask(upstream), record(upstream, folder))


def test_recorded_anew_it_is_the_same_but_for_its_moments(made: Made) -> None:
    shipped = SHIPPED.read_text()
    assert renewed(shipped, made.tape.read_text()) == shipped, "record it anew: make tour"


def test_moments_are_all_that_may_differ(made: Made) -> None:
    shipped = SHIPPED.read_text()
    for was, now in (("  took: ", "  took: 9"), ("    - {at: ", "    - {at: 9"), ("\nat: 20", "\nat: 30")):
        assert renewed(shipped, shipped.replace(was, now)) == shipped
    for was, now in (("Hello", "Hallo"), ("status: 200", "status: 201"), ("index: 0", "index: 1")):
        assert renewed(shipped, shipped.replace(was, now)) == shipped.replace(was, now) != shipped


def test_each_episode_plays_what_its_upstream_said(made: Made) -> None:
    with player() as server:
        rows = zip(made.live, made.relayed, ask(server), ask(server), strict=True)
    for number, (live, relayed, first, again) in enumerate(rows, 1):
        for got in (relayed, first, again):
            assert (got.status, got.body, kept(got)) == (live.status, live.body, kept(live)), f"episode {number}"
        sources = [got.headers["x-mockserver-source"] for got in (relayed, first, again)]
        assert sources == ["forwarded", *[f"cassette tour.yaml#{number}"] * 2]


def kept(got: Got) -> list[tuple[str, str]]:
    """The headers that are recorded."""
    return [(name, value) for name, value in got.headers.multi_items() if REPLY.has(name)]


def test_it_has_every_dialect_plain_and_streamed_an_error_and_filters_that_trip(made: Made) -> None:
    modes = {(asked.dialect, "stream" in asked.body) for asked in TOUR}
    dialects = ("openai", "skytells", "crazyrouter", "tzafon", "azure", "fireworks")
    assert modes == {(dialect, mode) for dialect in dialects for mode in (False, True)} | {("azure_openai", True)}
    assert [got.headers["retry-after"] for got in made.live if got.status == 429] == ["1"]
    assert sum(b'"content_filter"' in got.body for got in made.live) == 3
    assert sum(b"get_weather" in got.body for got in made.live) == 3


def test_no_key_is_on_it(made: Made) -> None:
    assert KEY not in made.tape.read_text() + SHIPPED.read_text()


def test_nothing_is_doubtful_of_it_now_or_in_ten_years() -> None:
    told = run("cassette", "verify", "tour", "--cassettes", SHIPPED.parent)
    assert (told.code, told.out, told.err) == (0, f"1 cassette, {len(TOUR)} episodes, 0 findings\n", "")
    episodes = CassetteFile(SHIPPED).load()
    assert list(findings(episodes, Checks(now=episodes[0].at + 3652 * DAY))) == []


LISTED = f"""\
tour.yaml#1  openai chat gpt-4o -> 200: Hello! How can I help you today?
tour.yaml#2  openai chat gpt-4o -> 200 in 12 events: Hello! How can I help you today?
tour.yaml#3  openai responses gpt-4o -> 200 in 19 events: Nothing new under the sun.
tour.yaml#4  skytells chat gpt-4o -> 200: The knight raised his sword and
tour.yaml#5  skytells chat gpt-4o -> 200 in 12 events: Hello! How can I help you today?
tour.yaml#6  crazyrouter chat gpt-4o -> 200: get_weather({{"city":"Oslo"}})
tour.yaml#7  crazyrouter chat gpt-4o -> 200 in 12 events: Hello! How can I help you today?
tour.yaml#8  tzafon responses tzafon.northstar-cua-fast -> 200: get_weather({{"city":"Oslo"}})
tour.yaml#9  tzafon responses tzafon.northstar-cua-fast -> 200 in 17 events: Hello! How can I help you today?
tour.yaml#10  azure chat Phi-4 -> 200: Hello! How can I help you today?
tour.yaml#11  azure chat Phi-4 -> 200 in 8 events: get_weather({{"city":"Oslo"}})
tour.yaml#12  azure chat Phi-4 -> 400: error content_filter The response was filtered
tour.yaml#13  azure_openai chat gpt-4o -> 200 in 10 events: The knight raised his sword and
tour.yaml#14  fireworks completions {KIMI} -> 200: Hello! How can I help you today?
tour.yaml#15  fireworks completions {KIMI} -> 200 in 11 events: Hello! How can I help you today?
tour.yaml#16  fireworks chat busy-model -> 429: error RESOURCE_EXHAUSTED Rate limit exceeded, please try again in 1s.
"""


def test_the_list_of_it_reads_well() -> None:
    assert run("cassette", "list", "tour", "--cassettes", SHIPPED.parent).out == LISTED
