import pytest

from app import advice, packing


def test_the_weather_is_looked_up(mockserver):
    look_up = {"tool_calls": [{"name": "forecast", "arguments": {"city": "Oslo"}}]}
    mockserver.on(last_user="*Oslo*").steps(look_up, "Take warm boots.")

    assert advice("Three days in Oslo") == "Take warm boots."
    mockserver.assert_called_once(tool_result={"name": "forecast", "text": "snow"})


def test_the_list_is_read(mockserver):
    mockserver.on(model="gpt-4o-mini").reply(json={"items": ["boots", "gloves"]})

    assert packing("Take warm boots and gloves.").items == ["boots", "gloves"]


@pytest.mark.mockserver(unmatched="generate")
def test_the_agent_comes_to_an_end_by_itself(mockserver):
    assert "sun" in advice("What is the weather in Rome?")
    assert len(mockserver.calls) == 2
