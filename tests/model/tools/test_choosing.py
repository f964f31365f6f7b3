"""Which tools a text asks for, clause by clause, and how well a tool fits."""

from collections.abc import Mapping, Sequence

import pytest

from mockserver.core.call import Tool
from mockserver.model.choosing import (
    THRESHOLD,
    Offers,
    Utterance,
    blank_quotes,
    find_best,
    find_tool_requests,
    split_clauses,
)
from mockserver.model.vocabulary import split_words

TOOLS = (
    Tool("get_weather", "Get the weather for a city"),
    Tool("book_table", "Book a table at a restaurant"),
    Tool("send_email", "Send an e-mail"),
)


def asked(text: str) -> list[tuple[str, str, bool]]:
    return [(request.tool.name, request.text, request.later) for request in find_tool_requests(text, Offers(TOOLS))]


def test_each_wish_has_its_own_words() -> None:
    assert asked("Check the weather in Paris and book a table at Chez Nous, then e-mail it to bob") == [
        ("get_weather", "Check the weather in Paris", False),
        ("book_table", "book a table at Chez Nous", False),
        ("send_email", "e-mail it to bob", True),
    ]


def test_what_asks_for_nothing_belongs_to_the_wish_before() -> None:
    assert asked("I am in Rome. What is the weather? I need it in celsius and soon") == [
        ("get_weather", "I am in Rome. What is the weather? I need it in celsius and soon", False)
    ]


def test_what_is_denied_is_no_part_of_a_wish() -> None:
    assert asked("Don't send an email, check the weather in Rome") == [
        ("get_weather", "check the weather in Rome", False)
    ]


@pytest.mark.parametrize("text", ["", "hello", "?!", "write a poem about the weather", "never call get_weather"])
def test_prose_asks_for_no_tool(text: str) -> None:
    assert asked(text) == []


def test_the_best_of_tools_that_fit_badly() -> None:
    found = find_best("something for a city", Offers(TOOLS))
    assert found is not None
    assert found.name == "get_weather"
    assert find_best("xyzzy", Offers(TOOLS)) is None


def function(name: str, about: str, *needed: str) -> Tool:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in needed}, "required": [*needed]}
    return Tool(name, about, schema)


OTHER_TOOLS = (
    function("add_to_shopping_list", "", "item"),
    function("get_user", "Get a user", "user_id"),
    function("issue_refund", "Issue a refund for an order", "order_id"),
)


def names(text: str) -> list[str]:
    return [request.tool.name for request in find_tool_requests(text, Offers(OTHER_TOOLS))]


def test_items_of_a_list_are_one_wish() -> None:
    assert names("add milk, eggs and bread to my shopping list") == ["add_to_shopping_list"]


def test_a_tool_that_is_named_twice_is_wanted_twice() -> None:
    assert names("use get_user for 12 and get_user for 13") == ["get_user", "get_user"]


@pytest.mark.parametrize("text", ["no news is good news", "Don't use any tools. Refund order 4.", "I got a refund."])
def test_what_wants_nothing(text: str) -> None:
    assert names(text) == []


FOREIGN_TOOLS = (
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
    assert [request.tool.name for request in find_tool_requests(text, Offers(FOREIGN_TOOLS))] == (
        [tool] if tool else []
    )


def test_clauses_stand_between_signs_and_joining_words() -> None:
    found = split_clauses("Check the weather in Paris, and book a table. Then e-mail bob@example.com")
    assert [clause.text.strip() for clause in found] == [
        "Check the weather in Paris",
        "book a table",
        "e-mail bob@example.com",
    ]


@pytest.mark.parametrize(
    ("text", "wanted", "denied"),
    [
        ("don't search the web", "", " search the web"),
        ("tell me without searching", "tell me ", " searching"),
        ("don't search just answer", "  answer", " search "),
        ("I don't want you to book it", "", " book it"),
        ("I don't know the weather", "I don't know the weather", ""),
        ("use search instead of lookup", "use search ", " lookup"),
    ],
)
def test_what_is_denied(text: str, wanted: str, denied: str) -> None:
    [clause] = split_clauses(text)
    assert (clause.text, clause.denied) == (wanted, denied)


@pytest.mark.parametrize(
    ("text", "idle"),
    [
        ("Thanks for the weather", True),
        ("what can you do", True),
        ("Which tools do you have", True),
        ("How does get_weather work", True),
        ("What is the weather", False),
    ],
)
def test_what_asks_for_nothing(text: str, idle: bool) -> None:
    assert split_clauses(text)[0].idle is idle


def test_quoted_texts_are_blanked_and_quoted_names_stay() -> None:
    assert blank_quotes('say "book a table" with `get_user`') == "say" + " " * 16 + "with `get_user`"
    assert len(blank_quotes("```\nbook a table\n```")) == len("```\nbook a table\n```")


def test_of_a_long_text_the_ends_are_heard() -> None:
    found = split_clauses("first. " + "middle. " * 1000 + "last.")
    assert (found[0].text.strip(), found[-1].text.strip()) == ("first", "last")
    assert len(found) <= 400


@pytest.mark.parametrize("sign", ["“", '"', "`", "'", "«", "「", "a,", "what ", "do you have ", "not "])
def test_hostile_texts_are_read_in_bounded_time(sign: str) -> None:
    assert len(split_clauses(sign * 16_000)) <= 400


WEATHER = Tool("get_weather", "Get the current weather for a city, e.g. Paris.", {"properties": {"city": {}}})
TICKETS = (Tool("jira_create_ticket", "Create a ticket"), Tool("jira_list_boards", "List the boards"))


def fit(tool: Tool, text: str, *others: Tool) -> float:
    return fitness(text, (tool, *others), {})


def fitness(text: str, tools: Sequence[Tool], hints: Mapping[str, str]) -> float:
    said = Utterance(split_words(text), text)
    return next((offer.score(said) for offer in Offers(tools, hints).list_alike(said) if offer.at == 0), 0)


def test_words_of_the_name_suffice() -> None:
    assert fit(WEATHER, "how is the weather") >= THRESHOLD
    assert fit(WEATHER, "get me a city") < THRESHOLD


def test_examples_of_a_description_say_nothing() -> None:
    assert fit(WEATHER, "tell me of Paris") == 0


def test_hints_add_to_the_description() -> None:
    policy = Tool("kb", "Internal.")
    assert fitness("vacation and sick leave", (policy,), {}) == 0
    assert fitness("vacation and sick leave", (policy,), {"kb": "Use kb for vacation and sick leave."}) >= THRESHOLD


def test_a_name_is_found_as_it_is_written() -> None:
    search = Tool("search")
    offers = Offers((WEATHER, search))
    assert offers.find_named("please call GET_WEATHER now") == [(12, WEATHER)]
    assert offers.find_named("my_get_weather") == []
    assert offers.find_named("search for cats") == []
    assert offers.find_named("use the search tool") == [(8, search)]


def test_an_mcp_server_is_known_by_its_label_and_its_tools() -> None:
    server = Tool("mcp", kind="mcp", options={"server_label": "deepwiki", "allowed_tools": ["ask_question", "search"]})
    assert fit(server, "ask deepwiki about rust") >= THRESHOLD
    assert Offers((server,)).find_named("use ask_question to learn of rust") == [(4, server)]
    assert Offers((server,)).find_named("search for rust") == []
    assert fit(server, "what is an mcp") < THRESHOLD


def test_a_namespace_is_no_part_of_the_name() -> None:
    issues = (Tool("mcp__github__create_issue"), Tool("mcp__github__list_issues"))
    assert fit(issues[0], "create an issue", issues[1]) >= THRESHOLD
    assert fit(Tool("home.lights.set"), "set the lights") >= THRESHOLD
