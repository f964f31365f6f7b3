"""The core schema of YAML 1.2, word by word (https://yaml.org/spec/1.2.2/#103-core-schema)."""

from math import inf, isnan

import pytest

from mockserver.config.yaml_reader import convert_to_float, resolve

KNOWN = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None, "nULL": "nULL",
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False, "tRue": "tRue",
    "yes": "yes", "no": "no", "on": "on", "off": "off", "y": "y", "N": "N",
    "0": 0, "12": 12, "-7": -7, "+3": 3, "012": 12, "0o14": 12, "0xfF": 255, "-0x1": "-0x1", "0b11": "0b11",
    "1_000": "1_000", "1:30": "1:30", "2024-01-02": "2024-01-02", "12e": "12e", "1.2.3": "1.2.3",
    "1.5": 1.5, "-.5": -0.5, "1.": 1.0, "1e3": 1000.0, "+1.5E-2": 0.015, ".": ".", "-": "-", "+": "+",
    ".inf": inf, "+.Inf": inf, "-.INF": -inf, "inf": "inf", "nan": "nan",
    "word": "word", "fox": "fox", "None": "None", "٣": "٣", "１": "１",
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), KNOWN.items())
def test_a_plain_scalar_means_what_the_core_schema_says(text, value):
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number(text):
    assert isnan(resolve(text))


def test_thousands_of_digits_are_refused():
    with pytest.raises(ValueError, match="digits"):
        resolve("9" * 5000)


def test_a_whole_number_beyond_all_decimals_is_as_if_written_with_an_exponent() -> None:
    assert [convert_to_float(3), convert_to_float(10**400), convert_to_float(-(10**400))] == [
        3.0,
        resolve("1e400"),
        resolve("-1e400"),
    ]
