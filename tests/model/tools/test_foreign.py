"""Words of other languages by which tools are asked for."""

import pytest

from mockserver.core.call import Tool
from mockserver.model.tools.choosing import tool_requests

TOOLS = (
    Tool("get_weather", "Get the weather for a city"),
    Tool("search_flights", "Search flights between cities"),
    Tool("translate_text", "Translate a text"),
    Tool("delete_user", "Delete a user"),
)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Wie ist das Wetter in Berlin?", "get_weather"),
        ("Quel temps fait-il à Lyon ?", "get_weather"),
        ("¿Qué tiempo hace en Madrid?", "get_weather"),
        ("Che tempo fa a Milano?", "get_weather"),
        ("Какая погода в Москве?", "get_weather"),
        ("东京的天气怎么样？", "get_weather"),
        ("東京の天気を教えて", "get_weather"),
        ("Suche Flüge von Wien nach Rom", "search_flights"),
        ("Traduce 'hello' al español", "translate_text"),
        ("supprime l'utilisateur 7", "delete_user"),
        ("Erzähl mir von dir", None),
        ("Merci beaucoup !", None),
    ],
)
def test_tools_are_asked_for_in_other_languages(text: str, tool: str | None) -> None:
    assert [request.tool.name for request in tool_requests(text, TOOLS, {})] == ([tool] if tool else [])
