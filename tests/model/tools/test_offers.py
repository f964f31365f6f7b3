"""How well tools fit a text."""

from mockserver.core.call import Tool
from mockserver.model.arguments import NOTHING
from mockserver.model.tools.choosing import THRESHOLD, fitness, named_at, offered_tools
from mockserver.model.vocabulary import words

WEATHER = Tool("get_weather", "Get the current weather for a city, e.g. Paris.", {"properties": {"city": {}}})
TICKETS = (Tool("jira_create_ticket", "Create a ticket"), Tool("jira_list_boards", "List the boards"))


def fit(tool: Tool, text: str, *others: Tool) -> float:
    return fitness(offered_tools((tool, *others), {})[0], words(text), NOTHING)


def test_words_of_the_name_suffice() -> None:
    assert fit(WEATHER, "how is the weather") >= THRESHOLD
    assert fit(WEATHER, "get me a city") < THRESHOLD


def test_examples_of_a_description_say_nothing() -> None:
    assert fit(WEATHER, "tell me of Paris") == 0


def test_hints_add_to_the_description() -> None:
    policy = Tool("kb", "Internal.")
    assert fitness(offered_tools((policy,), {})[0], words("vacation and sick leave"), NOTHING) == 0
    hinted = offered_tools((policy,), {"kb": "Use kb for vacation and sick leave."})[0]
    assert fitness(hinted, words("vacation and sick leave"), NOTHING) >= THRESHOLD


def test_a_name_is_found_as_it_is_written() -> None:
    weather, search = offered_tools((WEATHER, Tool("search")), {})
    assert named_at(weather, "please call GET_WEATHER now") == 12
    assert named_at(weather, "my_get_weather") is None
    assert named_at(search, "search for cats") is None
    assert named_at(search, "use the search tool") == 8


def test_an_mcp_server_is_known_by_its_label_and_its_tools() -> None:
    server = Tool("mcp", kind="mcp", options={"server_label": "deepwiki", "allowed_tools": ["ask_question", "search"]})
    assert fit(server, "ask deepwiki about rust") >= THRESHOLD
    offered = offered_tools((server,), {})[0]
    assert named_at(offered, "use ask_question to learn of rust") == 4
    assert named_at(offered, "search for rust") is None
    assert fit(server, "what is an mcp") < THRESHOLD


def test_a_namespace_is_no_part_of_the_name() -> None:
    issues = (Tool("mcp__github__create_issue"), Tool("mcp__github__list_issues"))
    assert fit(issues[0], "create an issue", issues[1]) >= THRESHOLD
    assert fit(Tool("home.lights.set"), "set the lights") >= THRESHOLD
