"""Tools that end a turn."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.pending_calls import ending_tools


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("get_weather", "final_result"), ("final_result",)),
        (("final_answer",), ("final_answer",)),
        (("search", "respond"), ("respond",)),
        (("search", "submit_answer"), ("submit_answer",)),
        (("submit_order", "get_order"), ()),
        (("get_weather", "WeatherReport"), ("WeatherReport",)),
        (("GetWeather", "Multiply"), ()),
        (("get_weather", "BookTable"), ()),
        (("Person",), ()),
        (("Person", "Animal"), ()),
    ],
)
def test_by_name(names: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert tuple(tool.name for tool in ending_tools(tuple(map(Tool, names)))) == found


def test_by_what_is_said_of_it() -> None:
    ends = Tool("out", "The final response which ends this conversation")
    assert ending_tools((Tool("search"), ends)) == (ends,)
