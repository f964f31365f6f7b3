"""The tape that ships is what the server answers today, plays byte for byte, and is read by the official clients."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.redaction.redact import REPLY
from mockserver.cassettes.verify import DAY, Checks, list_findings
from tests.kit.program import run
from tests.kit.served import served
from tests.record.tour import RULES, SHIPPED, TOUR, Got, ask, player, record, renewed


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


def test_each_episode_plays_what_its_upstream_said(made: Made) -> None:
    with player() as server:
        rows = zip(made.live, made.relayed, ask(server), ask(server), strict=True)
    for number, (live, relayed, first, again) in enumerate(rows, 1):
        for got in (relayed, first, again):
            assert (got.status, got.body, kept(got)) == (live.status, live.body, kept(live)), f"episode {number}"
        sources = [got.headers["x-mockserver-source"] for got in (relayed, first, again)]
        assert sources == ["forwarded", *[f"cassette tour.yaml#{number}"] * 2]


def kept(got: Got) -> list[tuple[str, str]]:
    return [(name, value) for name, value in got.headers.multi_items() if REPLY.keeps(name)]


def test_nothing_is_doubtful_of_it_now_or_in_ten_years() -> None:
    told = run("cassette", "verify", "tour", "--cassettes", SHIPPED.parent)
    assert (told.code, told.out, told.err) == (0, f"1 cassette, {len(TOUR)} episodes, 0 findings\n", "")
    episodes = CassetteFile(SHIPPED).load()
    assert list(list_findings(episodes, Checks(now=episodes[0].at + 3652 * DAY))) == []
