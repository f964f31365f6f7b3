"""Numbers of every style are read as the number that they stand for."""

import pytest

from mockserver.model.arguments.quantities import numbers
from mockserver.model.arguments.values import value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", [3]),
        ("-4.5", [-4.5]),
        ("1,234.50", [1234.5]),
        ("1.234,50", [1234.5]),
        ("1 234", [1234]),
        ("12.345.678", [12345678]),
        ("6.02e23", [6.02e23]),
        ("5k and 2M", [5000, 2000000]),
        ("2.5 million", [2500000]),
        ("twenty-five", [25]),
        ("a dozen", [12]),
        ("two hundred and five", [205]),
        ("three, four", [3, 4]),
        ("the 2nd", [2]),
        ("one thousand two hundred", [1200]),
        ("nothing once here", []),
        ("1e999", []),
        ("v2x and abc123", []),
    ],
)
def test_values(text: str, expected: list[float]) -> None:
    found = sorted((m for m in numbers(text) if m.kind in ("number", "money", "ordinal")), key=lambda m: m.start)
    assert [mention.value for mention in found] == expected


@pytest.mark.parametrize(
    ("text", "kind", "unit"),
    [
        ("$5", "money", "USD"),
        ("20 EUR", "money", "EUR"),
        ("fifteen dollars", "money", "USD"),
        ("€1.50", "money", "EUR"),
        ("5 km", "number", "km"),
        ("20%", "number", "%"),
        ("20 percent", "number", "%"),
        ("#17", "number", "#"),
        ("20°C", "number", "°C"),
        ("3rd", "ordinal", ""),
    ],
)
def test_kinds_and_units(text: str, kind: str, unit: str) -> None:
    first = next(mention for mention in numbers(text) if mention.kind in ("number", "money", "ordinal"))
    assert (first.kind, first.unit) == (kind, unit)


def test_too_large_a_number_is_none() -> None:
    with pytest.raises(OverflowError):
        value_of("1e999")
