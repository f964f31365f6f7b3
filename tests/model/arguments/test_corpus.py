"""Values that a prompt gives: arguments of tools and extracted objects, by two corpora, whole rows at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Tool, ToolChoice
from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.schema import generate_instance
from tests.kit.calls import call
from tests.kit.loops import rows, uses

RATES = {"values": 0.92, "values_more": 0.88}  # of whole rows, every value right and nothing taken that is not told
Row = Mapping[str, Any]


@pytest.mark.parametrize("corpus", RATES)
def test_most_rows_are_right_in_every_value(corpus: str) -> None:
    found = rows(corpus)
    wrong = [f"{row['say']}: {', '.join(bad)}" for row in found if (bad := list(flaws(row["give"], made(row), row)))]
    assert 1 - len(wrong) / len(found) >= RATES[corpus], "\n".join(wrong)


def made(row: Row) -> Any:
    """What is made of a row's prompt: the arguments of each call, or an instance."""
    if "tool" not in row:
        return generate_instance(row["schema"], Seed(1), find_mentions(row["say"]))
    tool = Tool(row["tool"], "", row["schema"])
    turn = replace(call(row["say"]), tools=(tool,), tool_choice=ToolChoice("required"))
    return [json.loads(use.arguments) for use in uses(turn, Seed(1))]


def flaws(wanted: Any, got: Any, row: Row, path: str = "") -> Iterator[str]:
    """Where a value is not what is wanted, or takes words of the prompt for what it does not tell."""
    match wanted:
        case {"any": options}:
            if options and all(list(flaws(option, got, row)) for option in options):
                yield path
        case {"has": pieces}:
            if not isinstance(got, str) or any(piece.lower() not in got.lower() for piece in pieces):
                yield path
        case dict():
            got = got if isinstance(got, dict) else {}
            for name, inner in wanted.items():
                yield from flaws(inner, got.get(name), row, f"{path}.{name}")
            yield from (f"{path}.{name}" for name in got if name not in wanted and _is_taken(got[name], row["say"]))
        case list():
            got = got if isinstance(got, list) else []
            for at, inner in enumerate(wanted):
                yield from flaws(inner, got[at] if at < len(got) else None, row, f"{path}[{at}]")
            if len(got) > len(wanted):
                yield f"{path}[{len(wanted)}]"
        case str() if isinstance(got, str):
            if wanted.lower().strip(" .") != got.lower().strip(" ."):
                yield path
        case _ if wanted != got or isinstance(wanted, bool) != isinstance(got, bool):
            yield path


def _is_taken(value: Any, text: str) -> bool:
    match value:
        case dict():
            return any(_is_taken(inner, text) for inner in value.values())
        case list():
            return any(_is_taken(inner, text) for inner in value)
        case str():
            return len(value) > 2 and value.lower() in text.lower()
    return False


def test_the_measure_finds_what_is_wrong() -> None:
    row = {"say": "Weather in Paris"}
    assert list(flaws({"city": "Paris"}, {"city": "paris"}, row)) == []
    assert list(flaws({"city": "Paris"}, {"city": "Rome", "note": "weather"}, row)) == [".city", ".note"]
    assert list(flaws([{"any": [1, 2]}], [3, 4], row)) == ["[0]", "[1]"]
    assert list(flaws({"has": ["x"]}, "axe", row)) == []
