"""Vectors with a palette are lists of numbers, only faster to write."""

from json import loads
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.vectors import PaletteVector

PALETTE = (0.5, -0.25, 1 / 3, 2e-7)
VECTOR = PaletteVector(PALETTE, bytes([0, 1, 2, 3, 2]), {1: 0.75, 4: -1e-9})
NUMBERS = [0.5, 0.75, 1 / 3, 2e-7, -1e-9]


def test_it_reads_as_a_list_of_its_numbers() -> None:
    assert list(VECTOR) == NUMBERS
    assert (len(VECTOR), VECTOR[1], VECTOR[-1], VECTOR[2:4]) == (5, 0.75, -1e-9, [1 / 3, 2e-7])


@pytest.mark.parametrize(("other", "same"), [(NUMBERS, True), (tuple(NUMBERS), True), (NUMBERS[:4], False), (5, False)])
def test_it_equals_what_has_the_same_numbers(other: object, same: bool) -> None:
    assert (other == VECTOR) is same


FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(FINITE, min_size=1, max_size=256), st.binary(min_size=1), st.dictionaries(st.integers(0), FINITE))
def test_it_is_written_as_its_numbers_are(palette: list[float], drawn: bytes, changes: dict[int, float]) -> None:
    indexes = bytes(byte % len(palette) for byte in drawn)
    vector = PaletteVector(palette, indexes, {at % len(drawn): number for at, number in changes.items()})
    assert loads(vector.write_json()) == list(vector)
    assert vector.pack() == pack(f"<{len(vector)}f", *vector)
