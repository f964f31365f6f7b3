"""Chance that follows from a number and labels only. The values are pinned: to change them changes every answer."""

import copy
import pickle
import random
import runpy
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core import seed
from mockserver.core.seed import FROZEN_AT, Random, Seed, WallClock, make_token, monotonic


def test_pinned_values() -> None:
    seed = Seed(7)
    assert seed.digest("a", size=4).hex() == "2e12acf4"
    assert seed.stream("a").random() == 0.9682293164919974
    assert seed.draw_fraction("a") == 0.029675628366682708
    assert seed.draw_alnum(12, "a") == "VRNlqtg7sqf3"
    assert seed.draw_hex(10, "a") == "91cb892568"


def test_every_label_and_seed_has_its_own_stream() -> None:
    drawn = [
        Seed(value).stream(*labels).random()
        for value in (0, 1)
        for labels in ((), ("a",), ("b",), ("a", "b"), ("ab",), ("b", "a"))
    ]
    assert len(set(drawn)) == len(drawn)


def test_streams_do_not_disturb_each_other() -> None:
    one, other = Seed().stream("one"), Seed().stream("other")
    alone = [Seed().stream("one").random()]
    other.random()
    assert [one.random()] == alone


def test_nothing_hangs_on_the_process() -> None:
    program = "from mockserver.core.seed import Seed; print(Seed(3).stream('x', 'y').random(), Seed(3).draw_alnum(64))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": hashed}, capture_output=True, check=True
        ).stdout
        for hashed in ("0", "1")
    }
    assert len(printed) == 1


@given(st.text(st.characters()), st.integers(1, 64))
def test_identifiers_have_their_length_and_letters(label: str, length: int) -> None:
    made = Seed(1).draw_alnum(length, label)
    assert len(made) == length
    assert made.isascii()
    assert made.isalnum()


@given(st.text(st.characters()))
def test_fractions_are_below_one(label: str) -> None:
    assert 0 <= Seed(1).draw_fraction(label) < 1


@pytest.mark.parametrize("length", [1, 10, 128])
def test_hex_digits(length: int) -> None:
    made = Seed(1).draw_hex(length, "x")
    assert len(made) == length
    assert set(made) <= set("0123456789abcdef")


def test_clocks() -> None:
    assert WallClock().now() == FROZEN_AT == 1_700_000_000
    assert WallClock(5).now() == 5
    assert abs(WallClock(None).now() - time.time()) < 5


def test_durations_only_grow() -> None:
    assert monotonic() <= monotonic()


def test_a_token_is_never_the_same_and_fits_a_header() -> None:
    tokens = {make_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(text) >= 32 and text.isascii() and text.isprintable() and " " not in text for text in tokens)


@pytest.mark.parametrize(
    ("missing", "clock"),
    [
        ((), "CLOCK_BOOTTIME"),
        (("CLOCK_BOOTTIME",), "CLOCK_MONOTONIC"),  # macOS
        (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"), None),  # Windows
    ],
)
def test_the_clock_of_leases_runs_on_in_sleep(
    missing: tuple[str, ...], clock: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.delattr(time, name)
    boottime = runpy.run_path(seed.__file__)["boottime"]
    assert boottime is time.monotonic if clock is None else boottime.args == (getattr(time, clock),)
    assert boottime() <= boottime()


def test_streams_are_those_of_random() -> None:
    for value in (0, 1, 2**32 + 1, 2**255 + 7):
        mine, base = Random(value), random.Random(value)
        assert mine.getstate() == base.getstate()
        assert [mine.randbelow(bound) for bound in range(1, 200)] == [base.randrange(bound) for bound in range(1, 200)]
        assert (mine.gauss(0, 1), mine.sample(range(50), 9)) == (base.gauss(0, 1), base.sample(range(50), 9))
        assert copy.deepcopy(mine).random() == pickle.loads(pickle.dumps(mine)).random() == base.random()
