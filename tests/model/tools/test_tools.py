"""Which tools are called: the tool choice to the letter, a corpus of requests, and loops that end."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Options, Tool, ToolCall, ToolChoice
from mockserver.core.json import Json
from mockserver.core.plan import ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING
from mockserver.model.conversation import unwrap
from mockserver.model.tool_uses import list_tool_uses, make_tool_use
from tests.kit.calls import call
from tests.kit.loops import catalogue, make_call_of_row, rounds, rows, uses

TOOLS = catalogue()
OFFERED = (TOOLS["get_weather"], TOOLS["book_table"], TOOLS["roll_dice"])
BOTH = "check the weather in Paris and book a table at Chez Nous"


def names(text: str | Call, mode: str = "auto", *allowed: str, **fields: Any) -> list[str]:
    turn = call(text) if isinstance(text, str) else text
    turn = replace(turn, tools=OFFERED, tool_choice=ToolChoice(mode, allowed), **fields)
    return [made.name for made in uses(turn, Seed(1))]


def test_auto_calls_what_is_asked_for() -> None:
    assert names(BOTH) == ["get_weather", "book_table"]
    assert names("hello") == []


def test_required_calls_something() -> None:
    assert names(BOTH, "required") == ["get_weather", "book_table"]
    assert len(names("hello", "required")) == 1
    assert names("dice", "required") == ["roll_dice"]


def test_only_allowed_tools_are_called() -> None:
    assert names(BOTH, "auto", "book_table", "roll_dice") == ["book_table"]
    assert names("What's the weather in Rome?", "auto", "book_table") == []
    assert names("What's the weather in Rome?", "required", "book_table") == ["book_table"]


def test_calls_one_after_another_where_they_may_not_be_parallel() -> None:
    turn = replace(
        call(BOTH),
        tools=OFFERED,
        tool_choice=ToolChoice("auto"),
        options=Options(parallel_tool_calls=False),
    )
    assert [[made.name for made in each] for each in rounds(turn)] == [["get_weather"], ["book_table"]]


def test_what_is_required_again_is_another_tool_first() -> None:
    turn = replace(call("check the weather in Rome"), tools=OFFERED, tool_choice=ToolChoice("required"))
    made = [each.name for answer in rounds(turn, most=3) for each in answer]
    assert made[0] == "get_weather"
    assert sorted(made) == ["book_table", "get_weather", "roll_dice"]


def test_a_tool_without_parameters_gets_an_empty_object() -> None:
    assert make_tool_use(Tool("f"), NOTHING, Seed()).call == ToolCall("", "f", "{}")
    assert json.loads(make_tool_use(Tool("f", parameters={"type": "object"}), NOTHING, Seed()).call.arguments) == {}


def test_a_custom_tool_gets_text() -> None:
    turn = replace(call("run `ls`"), tools=(Tool("run", kind="custom"),), tool_choice=ToolChoice("required"))
    assert uses(turn, Seed()) == (ToolCall("", "run", "ls", kind="custom"),)


def test_one_question_is_not_carried_out_twice() -> None:
    made = ToolCall("1", "roll_dice", "{}")
    said = (Message("assistant", tool_calls=(made,)), Message("tool", "6", tool_call_id="1"), Message("assistant", "6"))
    again = call("roll a die", *said, "Roll a die")
    assert names(again) == []
    assert names(again, "named", "roll_dice") == ["roll_dice"]


def test_a_bare_question_after_a_call_asks_the_same_tool_only_with_something_new() -> None:
    made = ToolCall("1", "roll_dice", "{}")
    said = (Message("assistant", tool_calls=(made,)), Message("tool", "6", tool_call_id="1"))
    assert names(call("roll a die", *said, "and now?")) == []


def _called(row: Any) -> list[list[str]]:
    """The names of each answer; several values for one tool count once."""
    found = []
    for made in rounds(make_call_of_row(row, TOOLS), until=row.get("until", ""), most=6):
        called = [each.name for each in made]
        found.append([name for at, name in enumerate(called) if at == 0 or called[at - 1] != name])
    return found


@pytest.mark.parametrize("row", rows("tools"), ids=lambda row: row["say"])
def test_what_is_asked_for_is_called(row: Any) -> None:
    assert _called(row) == row["calls"]


def test_what_is_asked_for_in_words_nobody_looked_at_is_called() -> None:
    held_out = rows("tools_held_out")
    right = sum(_called(row) == row["calls"] for row in held_out)
    assert right / len(held_out) >= 0.8


NAMES = sorted(TOOLS)
CHATTER = ("hello", "and", "then", "don't", "use", "Paris", "17", '"a table"', "first", ".", ",", "it", "and in Rome?")
TEXTS = st.lists(st.sampled_from([*NAMES, *CHATTER, *(tool.description for tool in TOOLS.values())]), max_size=8)
ORDERS = st.sampled_from(["", "Always call {} first.", "Call {} before {}.", "Never use {}.", "After {} call {}."])
RESULTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def turns(draw: st.DrawFn) -> Call:
    """Calls with random tools, instructions, texts and limits."""
    offered = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=12, unique=True))
    texts = draw(st.lists(TEXTS, min_size=1, max_size=3))
    system = draw(ORDERS).format(draw(st.sampled_from(offered)), draw(st.sampled_from(offered)))
    mode = draw(st.sampled_from(["auto", "required", "named", "none"]))
    allowed = draw(st.lists(st.sampled_from(offered), max_size=1 if mode == "named" else 4, min_size=mode == "named"))
    said = call(Message("system", system), *(" ".join(text) for text in texts))
    return replace(
        said,
        tools=tuple(TOOLS[name] for name in offered),
        tool_choice=ToolChoice(mode, tuple(allowed)),
        options=replace(said.options, parallel_tool_calls=draw(st.booleans())),
    )


@settings(max_examples=150, deadline=None)
@given(turns(), st.lists(RESULTS, min_size=1, max_size=5))
def test_loops_end_and_no_call_is_made_twice(turn: Call, results: list[Json]) -> None:
    turn = replace(turn, tool_choice=ToolChoice("auto", turn.tool_choice.names))
    made: list[tuple[ToolCall, ...]] = []
    answers = iter(results * 1000)
    pieces = 2 + sum(len(message.text.split()) for message in turn.messages)
    for answer in rounds(turn, most=1000, result=lambda each: json.dumps(next(answers))):
        made.append(answer)
        assert len(made) <= len(turn.tools) * pieces + 2
    called = [(each.name, json.dumps(json.loads(each.arguments), sort_keys=True)) for answer in made for each in answer]
    assert len(called) == len(set(called))


@settings(max_examples=150, deadline=None)
@given(turns(), st.integers(0, 3))
def test_the_tool_choice_is_obeyed_and_arguments_are_valid(turn: Call, seed: int) -> None:
    choice, made = turn.tool_choice, list_tool_uses(turn, Seed(seed))
    calls = [use.call for use in made if isinstance(use, ToolUse)]
    allowed = choice.names or tuple(tool.name for tool in turn.tools)
    assert len(calls) == len(made)
    assert {each.name for each in calls} <= set(allowed)
    assert turn.options.parallel_tool_calls or len(calls) <= 1
    assert bool(calls) or choice.mode in ("none", "auto")
    assert not calls or choice.mode != "none"
    assert choice.mode != "named" or len(calls) == 1
    for each in calls:
        schema = TOOLS[each.name].parameters
        assert jsonschema_rs.is_valid(schema if schema else {"maxProperties": 0}, json.loads(each.arguments))


def test_many_large_tools_are_weighed_in_bounded_time() -> None:
    properties = {f"field_{at}": {"type": "string", "description": "of the thing " * 20} for at in range(50)}
    large = tuple(
        Tool(f"tool_{at}_thing", "Does the thing. " * 200, {"type": "object", "properties": properties})
        for at in range(128)
    )
    turn = replace(call("do the thing with tool_77_thing " * 2000), tools=large, tool_choice=ToolChoice("auto"))
    assert "tool_77_thing" in {made.name for made in uses(turn, Seed())}


def test_of_several_ends_the_one_that_the_user_speaks_of_is_taken() -> None:
    landmark = {"properties": {"landmark": {"type": "string"}, "height": {"type": "number"}}, "type": "object"}
    person = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "type": "object"}
    ends = (Tool("final_result_Landmark", parameters=landmark), Tool("final_result_Person", parameters=person))
    asked_for = call("Ada Lovelace is 36 years old.", tool_choice=ToolChoice("required"))
    (use,) = list_tool_uses(replace(asked_for, tools=ends), Seed())
    assert isinstance(use, ToolUse)
    assert (use.call.name, json.loads(use.call.arguments)) == (
        "final_result_Person",
        {"name": "Ada Lovelace", "age": 36},
    )


ASKED = Message("user", "What is the weather in Paris?")
QUOTED = """Calling tools:
[{'id': 'call_1', 'type': 'function', 'function': {'name': 'get_weather', 'arguments': {'city': "L'Aquila"}}}]"""
OBSERVED = Message("user", "Observation:\nsunny")


def test_what_is_quoted_is_told() -> None:
    _, asked, given = unwrap(call(ASKED, Message("assistant", QUOTED), OBSERVED, tools=["get_weather"])).messages
    (made,) = asked.tool_calls
    assert (made.name, json.loads(made.arguments)) == ("get_weather", {"city": "L'Aquila"})
    assert (given.role, given.text, given.tool_call_id) == ("tool", "sunny", made.id)


@pytest.mark.parametrize(
    "said",
    [
        [ASKED],
        [OBSERVED],
        [ASKED, OBSERVED],
        [ASKED, Message("user", QUOTED), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:\n[7, {'function': 7}, {'function': {'name': 7}}]"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:" + "[" * 100_000), OBSERVED],
    ],
)
def test_other_texts_stay_what_they_are(said: list[Message]) -> None:
    assert list(unwrap(call(*said, tools=["get_weather"])).messages) == said


def test_without_tools_nothing_is_a_call() -> None:
    said = (ASKED, Message("assistant", QUOTED), OBSERVED)
    assert unwrap(call(*said)).messages == said


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
ADA = "Ada Lovelace is 36 years old."


@pytest.mark.parametrize(
    ("text", "offered", "called"),
    [
        (ADA, [Tool("final_result", "A person.", PERSON)], ["final_result"]),
        (ADA, [Tool("answer", "Provides the final answer.", PERSON), OFFERED[2]], ["answer"]),
        (ADA, [Tool("Person", "A person.", PERSON)], ["Person"]),
        ("hello", [Tool("final_result", "A person.", PERSON)], []),
        ("hello", [Tool("Person", "A person.", PERSON)], []),
        (ADA, [Tool("Person", "A person.", PERSON), OFFERED[2]], []),
        (ADA, [Tool("Calculator", "Useful for math.", PERSON)], []),
        (ADA, [Tool("Wikipedia", "Search for people.", PERSON)], []),
    ],
)
def test_tools_that_take_the_answer_need_not_be_forced(text: str, offered: list[Tool], called: list[str]) -> None:
    turn = replace(call(text), tools=tuple(offered), tool_choice=ToolChoice("auto"))
    assert [made.name for made in uses(turn, Seed(1))] == called
    assert [[made.name for made in each] for each in rounds(turn)] == [called] * bool(called)


TRANSFER = Tool(
    "transfer_to_agent",
    "Transfer the query to another agent.",
    {"properties": {"agent_name": {"type": "string", "enum": ["greeter", "sky_agent"]}}, "required": ["agent_name"]},
)
TEAM = Message(
    "system",
    "Agent name: greeter\nAgent description: Handles hellos.\n\n"
    "Agent name: sky_agent\nAgent description: Handles weather requests for cities.",
)
CONTEXT = "For context: what another agent did.[root]"


def test_a_request_is_handed_to_the_colleague_whom_it_is_for() -> None:
    turn = replace(call(TEAM, ASKED), tools=(TRANSFER,), tool_choice=ToolChoice("auto"))
    (made,) = uses(turn, Seed())
    assert (made.name, json.loads(made.arguments)) == ("transfer_to_agent", {"agent_name": "sky_agent"})
    assert uses(replace(turn, messages=(TEAM, Message("user", "What is 2+2?"))), Seed()) == ()
    answered = (*turn.messages, Message("assistant", tool_calls=(replace(made, id="a"),)), Message("tool", "", "a"))
    assert uses(replace(turn, messages=answered), Seed()) == ()
    later = (*answered, Message("assistant", "sunny"), Message("user", "What is the weather in Oslo?"))
    assert [each.name for each in uses(replace(turn, messages=later), Seed())] == ["transfer_to_agent"]


def test_what_other_agents_did_is_no_request() -> None:
    quoted = "<<<BEGIN_QUOTED>>>\n{'agent_name': 'sky_agent'}\n<<<END_QUOTED>>>"
    did = Message("user", f"{CONTEXT} called tool `transfer_to_agent` with parameters:\n{quoted}")
    got = Message("user", f"{CONTEXT} `transfer_to_agent` tool returned result: {{'result': None}}")
    said = Message("user", f"{CONTEXT} said: One moment.")
    turn = unwrap(call(ASKED, did, got, said, tools=["get_weather"]))
    assert turn.last_user == ASKED.text
    assert [each.role for each in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert turn.messages[1].tool_calls[0].arguments == '{"agent_name":"sky_agent"}'
    assert turn.messages[2].tool_call_id == turn.messages[1].tool_calls[0].id
    assert (turn.messages[2].text, turn.messages[3].text) == ("{'result': None}", "One moment.")


def test_context_of_nobody_stays_what_the_user_says() -> None:
    said = [Message("user", "For context: I live in Oslo.")]
    assert list(unwrap(call(*said)).messages) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<system-reminder>\nToday is Monday.\n</system-reminder>\n\nHello!", "Hello!"),
        ("Hello!\n<environment_details>a</environment_details><env>b</env>", "Hello!"),
        ("<env>1 <env>2</env> Hello!", "Hello!"),
        ("<env>only this</env>", "<env>only this</env>"),
        ("<env>never closed", "<env>never closed"),
        (
            "<context>Tides are caused by the moon.</context> Why?",
            "<context>Tides are caused by the moon.</context> Why?",
        ),
    ],
)
def test_what_clients_add_in_tags_is_not_what_the_user_says(text: str, said: str) -> None:
    assert unwrap(call(text)).last_user == said
    assert unwrap(call(Message("system", text))).messages[0].text == text


def test_tags_that_are_never_closed_cost_little() -> None:
    text = "<env>" * 200_000
    assert unwrap(call(text)).last_user == text
