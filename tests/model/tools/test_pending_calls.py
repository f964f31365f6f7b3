"""What instructions and the user ask for, without what was called already."""

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.json import Json
from mockserver.core.plan import ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING
from mockserver.model.auto import answer_as_model
from mockserver.model.choosing import find_offers
from mockserver.model.tool_uses import (
    Instructions,
    Pair,
    PendingCall,
    find_earlier_call,
    find_pending_calls,
    have_same_meaning,
    read_instructions,
)
from tests.kit.calls import call

WEATHER = Tool("get_weather", "Get the weather for a city")
TABLE = Tool("book_table", "Book a table at a restaurant")
POLICY = Tool("lookup_policy")
END = Tool("final_result")


def due(asked: Call, *tools: Tool) -> list[tuple[str, int]]:
    return [
        (pending.tool.name, pending.stage)
        for pending in find_pending_calls(asked, find_offers(tools or (WEATHER, TABLE, POLICY)))
    ]


def done(asked: Call, name: str, arguments: str = "{}") -> Call:
    made = ToolCall(f"call_{len(asked.messages)}", name, arguments)
    said = (Message("assistant", tool_calls=(made,)), Message("tool", "{}", tool_call_id=made.id))
    return replace(asked, messages=(*asked.messages, *said))


def test_errands_of_one_stage_need_not_wait() -> None:
    assert due(call("check the weather and book a table")) == [("get_weather", 0), ("book_table", 0)]
    assert due(call("check the weather, then book a table")) == [("get_weather", 0), ("book_table", 1)]


def test_what_was_called_is_done() -> None:
    asked = done(call("check the weather and book a table"), "get_weather")
    assert due(asked) == [("book_table", 0)]
    assert due(done(asked, "book_table")) == []


def test_a_new_message_opens_a_new_turn() -> None:
    asked = done(call("check the weather"), "get_weather")
    assert due(replace(asked, messages=(*asked.messages, Message("user", "book a table")))) == [("book_table", 0)]


def test_instructions_stand_before_wishes() -> None:
    ordered = call(Message("system", "Always call lookup_policy first."), "check the weather")
    assert due(ordered) == [("lookup_policy", 0), ("get_weather", 1)]
    assert due(done(ordered, "lookup_policy")) == [("get_weather", 1)]


def test_pairs_stand_where_their_cause_does() -> None:
    paired = call(Message("system", "Call lookup_policy before book_table."), "check the weather and book a table")
    assert due(paired) == [("get_weather", 0), ("lookup_policy", 1), ("book_table", 2)]
    assert due(replace(paired, messages=(paired.messages[0], Message("user", "weather?")))) == [("get_weather", 0)]


def test_what_ends_a_turn_comes_last_and_only_when_ordered() -> None:
    ordered = call(Message("system", "You must call final_result."), "check the weather")
    assert due(ordered, WEATHER, END) == [("get_weather", 0), ("final_result", 1)]
    assert due(call("give me the final result"), WEATHER, END) == []


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ('{"a":1,"b":2}', '{"b": 2, "a": 1.0}', True),
        ('{"a":1}', '{"a":true}', False),
        ('{"a":1}', '{"a":"1"}', False),
        ("free text", "free text", True),
        ("free", "text", False),
        ("[" * 100_000, "{}", False),
    ],
)
def test_arguments_are_the_same_by_what_they_mean(one: str, other: str, equal: bool) -> None:
    assert have_same_meaning(one, other) is equal


def test_a_call_is_known_that_was_made_in_any_turn() -> None:
    asked = done(call("check the weather"), "get_weather", '{"city":"Rome"}')
    later = replace(asked, messages=(*asked.messages, Message("user", "the weather again")))
    assert find_earlier_call(later, PendingCall(WEATHER, NOTHING), ToolCall("", "get_weather", '{"city": "Rome"}'))
    assert not find_earlier_call(later, PendingCall(WEATHER, NOTHING), ToolCall("", "get_weather", '{"city": "Oslo"}'))
    assert not find_earlier_call(later, PendingCall(TABLE, NOTHING), ToolCall("", "book_table", '{"city": "Rome"}'))


TOOLS = (*map(Tool, ("lookup_policy", "send_reply", "search", "Read", "ReportFindings")),)


def said(text: str) -> Instructions:
    return read_instructions(call(Message("system", text), "hello"), TOOLS)


@pytest.mark.parametrize(
    ("text", "always"),
    [
        ("Always call lookup_policy first.", ["lookup_policy"]),
        ("Use the search tool before answering.", ["search"]),
        ("You must first call search, then lookup_policy.", ["search", "lookup_policy"]),
        ("Always look up the policy.", ["lookup_policy"]),
        ("Call lookup_policy when the user asks about holidays.", []),
        ("You have lookup_policy.", []),
        ("Always be kind.", []),
        ("Before you run a command, read the manual.", []),
        ("First call Read.", ["Read"]),
        ("Use --max-findings all to report every finding.", []),
        ("Call the search tool in every turn.", ["search"]),
        ("I always search my soul before talking to `nobody`", ["search"]),
    ],
)
def test_what_is_always_called(text: str, always: list[str]) -> None:
    assert said(text).always == always


@pytest.mark.parametrize(
    ("text", "first", "second", "cause"),
    [
        ("Call lookup_policy before send_reply.", "lookup_policy", "send_reply", "send_reply"),
        ("Before you call send_reply call lookup_policy.", "lookup_policy", "send_reply", "send_reply"),
        ("Call send_reply after lookup_policy.", "lookup_policy", "send_reply", "lookup_policy"),
        ("After lookup_policy call send_reply.", "lookup_policy", "send_reply", "lookup_policy"),
    ],
)
def test_pairs(text: str, first: str, second: str, cause: str) -> None:
    assert said(text).pairs == [Pair(first, second, cause)]


def test_what_is_never_called() -> None:
    assert said("Never call send_reply.").never == {"send_reply"}
    assert said("Never call send_reply without asking.").never == set()
    assert len(said("Be brief. Do not use any tools.").never) == len(TOOLS)


def test_conditions_are_hints() -> None:
    assert "holidays" in said("If somebody asks about holidays, use lookup_policy.").hints["lookup_policy"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("get_weather", "final_result"), ("final_result",)),
        (("final_answer",), ("final_answer",)),
        (("mark_task_7_successful", "mark_task_7_failed"), ("mark_task_7_successful",)),
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
    assert tuple(tool.name for tool in find_offers([*map(Tool, names)]).ending) == found


def test_who_is_done_hands_over() -> None:
    offered = tuple(map(Tool, ("refund_flight", "transfer_to_travel_agent", "transfer_to_user")))
    rules = Message("system", "You refund flights. When the refund is complete, hand back to the travel agent.")
    wanted = call(rules, Message("user", "Please refund my flight"))
    assert due(wanted, *offered) == [("refund_flight", 0), ("transfer_to_travel_agent", 1)]
    assert due(call(rules, Message("user", "Good morning")), *offered) == []


def test_a_tool_that_instructions_name_is_fed_with_what_the_user_says() -> None:
    fields = {"city": {"type": "string"}, "population": {"type": "integer"}}
    city = Tool("city", "Keep what is known", {"type": "object", "properties": fields, "required": [*fields]})
    rules = Message("system", "Extract the city and its population with the tool `city`.")
    told = call(rules, "Oslo has 700000 people")
    assert due(told, city) == [("city", 0)]
    assert due(done(told, "city"), city) == []
    assert due(call(rules, "Does Oslo have 700000 people?"), city) == []  # a question is no record
    assert due(call(rules, "Oslo is cold"), city) == []  # nor is a part of one
    when = Message("system", "Use the tool `city` if the user wants to keep a city.")
    assert due(call(when, "Oslo has 700000 people"), city) == []


def test_calls_that_a_client_only_refers_to_are_not_made_again() -> None:
    properties = {"city": {"type": "string"}}
    schema: Json = {"type": "object", "properties": properties, "required": ["city"]}
    weather, time = (Tool(f"get_{name}", f"Get the {name} in a city", schema) for name in ("weather", "time"))
    asked = call("What is the weather in Oslo and the time in Rome?", tool_choice=ToolChoice("auto"))
    asked = replace(asked, tools=(weather, time))
    sunny, noon = (Message("tool", text, tool_call_id=text) for text in ("sunny", "noon"))

    def answer(*results: Message) -> list[str]:
        turn = replace(asked, messages=(*asked.messages, Message("assistant"), *results))
        parts = answer_as_model(turn, Seed(1), {}).parts
        return [part.call.name if isinstance(part, ToolUse) else str(getattr(part, "text", "")) for part in parts]

    assert answer(sunny) == ["get_time"]
    assert answer(sunny, noon) == ["Weather (Oslo): sunny. Time (Rome): noon."]
