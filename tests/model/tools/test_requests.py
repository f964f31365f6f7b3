# ruff: noqa: E501  (a prompt is one line)
"""Requests in plain words, the tools that they call, and values from results; none of these phrasings is special."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call


def tool(name: str, about: str, /, **kinds: str) -> Tool:
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    return Tool(name, about, {"type": "object", "properties": properties, "required": list(properties)})


MAIL = tool("send_email", "Send an email", to="string", subject="string", body="string")
MESSAGE = tool("mail", "Send mail to someone", recipient="string", subject="string", message="string")
RETRIEVE = tool("retrieve", "Retrieve information related to a query.", query="string")
KNOWLEDGE = tool("search_knowledge_base", "Search the company's help articles.", query="string")
WEB = tool("web_search", "Search the web", query="string")
FLIGHTS = tool("search_flights", "Search flights", origin="string", destination="string", date="string")
BOOK = tool("book_flight", "Book a flight", flight="string", passenger_name="string")
STOCK = tool("get_stock_price", "Get the current price of a stock", ticker="string")
MEMORY = tool("save_memory", "Save a fact about the user", fact="string")
HOTELS = tool("search_hotels", "Search hotels", city="string", max_price="number", nights="integer", check_in="string")
ORDER = tool("get_order", "Get an order", order_id="integer")
ADD = tool("add_two_numbers", "Add two numbers", a="integer", b="integer")
CALCULATOR = tool("calculator", "Evaluate a math expression", expression="string")


def calls(prompt: str, *tools: Tool, later: tuple[Message, ...] = ()) -> list[tuple[str, dict[str, Any]]]:
    rules, _, said = prompt.rpartition(" ¦ ")
    messages = [Message("system", rules)] if rules else []
    asked = call(*messages, Message("user", said), *later, tool_choice=ToolChoice("auto"))
    parts = answer_as_model(replace(asked, tools=tools), Seed("5"), {}).parts
    return [(part.call.name, json.loads(part.call.arguments)) for part in parts if isinstance(part, ToolUse)]


CHEAPEST = (
    "Find me a flight from Berlin to Lisbon on 2026-12-24 for 2 people and book the cheapest one for Ada Lovelace."
)
RAG = "You have access to a tool that retrieves context from a blog post. Use the tool to help answer user queries."


@pytest.mark.parametrize(
    ("prompt", "offered", "arguments"),
    [
        ("Email bob@example.com that the meeting moved to Friday 3pm", [MAIL], {"to": "bob@example.com", "body": "meeting moved"}),
        ("Please write to anna@x.org. Subject: Lunch. Text: See you at noon.", [MAIL],
         {"to": "anna@x.org", "subject": "Lunch", "body": "See you at noon"}),
        ("Send a message to kim@y.com saying the parcel has arrived", [MESSAGE],
         {"recipient": "kim@y.com", "message": "the parcel has arrived"}),
        ('Mail jo@x.org with subject "Invoice" and body "Please pay."', [MAIL],
         {"to": "jo@x.org", "subject": "Invoice", "body": "Please pay."}),
        ("Let sam@corp.io know that I will be late", [MAIL], {"to": "sam@corp.io", "body": "late"}),
        (f"{RAG} ¦ What is task decomposition?", [RETRIEVE], {"query": "task decomposition"}),
        ("You are a support bot. Answer from the knowledge base. ¦ What is your return policy for shoes?", [KNOWLEDGE],
         {"query": "return policy"}),
        ("Use the retrieve tool for questions. ¦ How long is parental leave?", [RETRIEVE], {"query": "parental leave"}),
        ("How do I reset my password?", [KNOWLEDGE], {"query": "password"}),
        ("You can search the web. ¦ Who won the 2018 world cup?", [WEB], {"query": "world cup"}),
        (CHEAPEST, [FLIGHTS, BOOK], {"origin": "Berlin", "destination": "Lisbon", "date": "2026-12-24"}),
        ("Search flights from Rome to Oslo on May 4, then book the first result for Bob.", [FLIGHTS, BOOK],
         {"origin": "Rome", "destination": "Oslo"}),
        ("Look for flights from Rome to Oslo on 2026-05-04 and book whichever is cheapest for Bob", [FLIGHTS, BOOK],
         {"origin": "Rome", "destination": "Oslo"}),
        ("Remember that I like tea", [MEMORY], {"fact": "like tea"}),
        ("What is three plus one?", [ADD], {"a": "3", "b": "1"}),
        ("What is 3 plus 4?", [CALCULATOR], {"expression": "3 + 4"}),
        ("What is 12% of 80?", [CALCULATOR], {"expression": "12 / 100 * 80"}),
        ("Find a hotel in Rome under 120 euros for 3 nights from May 4", [HOTELS],
         {"city": "Rome", "max_price": "120", "nights": "3", "check_in": "05-04"}),
    ],
)  # fmt: skip
def test_a_request_calls_the_tool_with_what_it_says(
    prompt: str, offered: list[Tool], arguments: dict[str, str]
) -> None:
    ((name, given),) = calls(prompt, *offered)
    assert name == offered[0].name
    assert {key: said in str(given[key]) for key, said in arguments.items()} == dict.fromkeys(arguments, True)


@pytest.mark.parametrize(
    "prompt", ["Hello!", "Thanks!", "What is 2+2?", "Explain what the get_order tool does", "What does get_order do?"]
)
def test_what_needs_no_tool(prompt: str) -> None:
    assert calls(prompt, WEB, ORDER) == []


def test_two_of_a_kind() -> None:
    assert [given["ticker"] for _, given in calls("Compare the stock prices of AAPL and MSFT", STOCK)] == [
        "AAPL",
        "MSFT",
    ]


FOUND = """[{"flight": "LH123", "from": "Berlin", "to": "Lisbon", "price": 120}, {"flight": "TP9", "price": 99}]"""
SEARCHED = (
    Message("assistant", tool_calls=(ToolCall("c1", "search_flights", '{"origin": "Berlin", "destination": "Lisbon", "date": "2026-12-24"}'),)),
    Message("tool", FOUND, tool_call_id="c1"),
)  # fmt: skip


def test_the_next_call_takes_the_record_that_is_meant() -> None:
    assert calls(CHEAPEST, FLIGHTS, BOOK, later=SEARCHED) == [
        ("book_flight", {"flight": "TP9", "passenger_name": "Ada Lovelace"})
    ]


def test_a_final_answer_takes_its_values_from_the_results() -> None:
    properties = {"origin": {"type": "string"}, "destination": {"type": "string"}, "price": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    asked = call(Message("user", "Plan a trip"), *SEARCHED, response_format="json_schema", schema=schema)
    (part,) = answer_as_model(asked, Seed("1"), {}).parts
    assert isinstance(part, Text)
    assert json.loads(part.text) == {"origin": "Berlin", "destination": "Lisbon", "price": 120}


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("Alien is a horror movie with a rating of 8.5", {"title": "Alien", "genre": "horror movie", "rating": 8.5}),
        ("A science fair on Friday, 2026-11-27 in Munich", {"date": "2026-11-27", "city": "Munich"}),
    ],
)
def test_values_of_an_answer(said: str, values: dict[str, Any]) -> None:
    kinds = {name: {"type": "string" if isinstance(value, str) else "number"} for name, value in values.items()}
    schema = {"type": "object", "properties": kinds, "required": list(values)}
    (part,) = answer_as_model(call(said, response_format="json_schema", schema=schema), Seed("1"), {}).parts
    assert isinstance(part, Text)
    assert json.loads(part.text) == values


def test_json_that_a_tool_returned_is_no_text_to_send() -> None:
    weather = tool("get_weather", "Get the weather", city="string")
    done = Message("assistant", tool_calls=(ToolCall("1", "get_weather", '{"city":"Oslo"}'),))
    later = (done, Message("tool", '{"temp": 12, "sky": "clear"}', tool_call_id="1"))
    ((name, given),) = calls("Get the weather in Oslo and email it to bob@x.org", weather, MAIL, later=later)
    assert name == "send_email"
    assert (given["to"], given["body"]) == ("bob@x.org", "Weather (Oslo): temp 12, sky clear.")
    assert not {*given["subject"]} & {*'{}":'}


def test_a_question_calls_what_tells_the_answer() -> None:
    refund, status = (tool(name, "", order_id="string") for name in ("refund_order", "order_status"))
    assert calls("Where is my order 4711?", refund, status) == [("order_status", {"order_id": "4711"})]
    cancel = tool("cancel_order", "Cancel an order", order_id="string")
    assert calls("Where is my package for order A-1?", cancel, status) == [("order_status", {"order_id": "A-1"})]


@pytest.mark.parametrize(
    ("said", "colleague"),
    [
        ("My bill is too high", "billing"),
        ("I have a question about pricing of your enterprise plan", "sales"),
        ("My app does not start", "support"),
    ],
)
def test_a_colleague_is_chosen_by_what_the_name_means(said: str, colleague: str) -> None:
    offered = [tool(f"transfer_to_{name}", f"Transfer to {name} agent") for name in ("billing", "support", "sales")]
    assert calls(said, *offered) == [(f"transfer_to_{colleague}", {})]


def test_a_quoted_command_is_run() -> None:
    shell, read = tool("bash", "Run a shell command", command="string"), tool("read_file", "Read a file", path="string")
    assert calls("Please run `ls -la src`", shell, read) == [("bash", {"command": "ls -la src"})]


SEARCH = tool("unreliable_search", "Search for information, but may fail.", query="string")
PERSON = tool("lookup_person", "Look up a person", name="string", address="string")
DISTANCE = tool("calculate_distance", "Calculate distance between two cities.", city_a="string", city_b="string")
DATABASE = tool("search_database", "Search the database.", query="string")
IMAGE = tool("get_image", "")
WEATHER = tool("get_weather", "Get the weather of a city", city="string")
RATE = tool("lookup_exchange_rate", "Look up an exchange rate.", currency="string")
STUDENT = tool("extract_student", "Get the student from the text", name="string", school="string")
PLACE = tool("get_forecast", "Get the forecast of a place", latitude="string", longitude="string")
SOURCE = tool("country_source", "")
CAPITAL = tool("capital_lookup", "", country="string")


@pytest.mark.parametrize(
    ("prompt", "offered", "made"),
    [
        ("Search for Python tutorials", [SEARCH], [{"query": "Python tutorials"}]),
        ("Look up Ann who lives in Oslo", [PERSON], [{"name": "Ann"}]),
        ("How far is Madrid from Lisbon?", [DISTANCE], [{}]),
        ("Find cities in Europe", [DATABASE], [{"query": "cities in Europe"}]),
        ("Can you search for information about recurring revenue?", [DATABASE, ADD], [{"query": "recurring revenue"}]),
        ("What food is in the image you can get from the get_image tool?", [IMAGE], [{}]),
        ("Ada Lovelace studies at Stanford University.", [STUDENT], [{"name": "Ada Lovelace", "school": "Stanford University"}]),
        ("What is the weather in Tokyo? Use the get_weather tool.", [WEATHER], [{"city": "Tokyo"}]),
        ("What is the weather in Tokyo, Japan?", [WEATHER], [{"city": "Tokyo"}]),
        ("What is the weather in Tokyo, Oslo and Rome?", [WEATHER], [{"city": "Tokyo"}, {"city": "Oslo"}, {"city": "Rome"}]),
        ("What's the forecast for Berlin? (52.5200, 13.4050)", [PLACE], [{"latitude": "52.5200", "longitude": "13.4050"}]),
        ("Always call `country_source` first, then call `capital_lookup` with that before replying. ¦ Use the tools.", [SOURCE, CAPITAL], [{}]),
        ("What tools do you have available? Just list them.", [WEATHER], []),
        ("List the names of the tools that you have access to", [WEATHER], []),
        ("Acknowledge the available exchange-rate tool without calling it.", [RATE], []),
        ("Use tool search to load lookup_exchange_rate. Do not call it yet.", [RATE], []),
        ('Return only this JSON object and do not call tools: {"total":42}', [ADD], []),
    ],
)  # fmt: skip
def test_what_live_models_call(prompt: str, offered: list[Tool], made: list[dict[str, str]]) -> None:
    found = [arguments for _, arguments in calls(prompt, *offered)]
    assert len(found) == len(made)
    assert all(wanted.items() <= arguments.items() for wanted, arguments in zip(made, found, strict=True))


def answer_after(name: str, arguments: dict[str, str], result: str, *more: Message) -> tuple[Message, ...]:
    made = ToolCall("c1", name, json.dumps(arguments))
    return (Message("assistant", tool_calls=(made,)), Message("tool", result, tool_call_id="c1"), *more)


URGED = Message(
    "user",
    "Analyze the tool result. If requirements are met, provide the Final Answer. Otherwise, call the next tool.",
)
TASK = (
    "Current Task: {}\n\nThis is the expected criteria for your final answer: The weather\nyou MUST return the actual"
)


@pytest.mark.parametrize(
    ("prompt", "later", "made"),
    [
        # what the client says behind a result is about that
        (TASK.format("What is the weather in Oslo?"), answer_after("get_weather", {"city": "Oslo"}, "sunny", URGED), []),
        (TASK.format("What is the weather in Oslo, and in Rome?"), answer_after("get_weather", {"city": "Oslo"}, "sunny", URGED), ["Rome"]),
        ("What is the weather in Tokyo? Use the get_weather tool.", answer_after("get_weather", {"city": "Tokyo"}, "sunny"), []),
        ("What is the weather like in Paris, France?", answer_after("get_weather", {"city": "Paris, France"}, "sunny"), []),
        # results that ask for another call
        ("What is the weather in CDMX?", answer_after("get_weather", {"city": "CDMX"}, "Did you mean Mexico City?"), ["Mexico City"]),
        ("The weather in Oslo?", answer_after("get_weather", {"city": "Oslo"}, 'Use "OSL" instead.\n\nFix the errors and try again.'), ["OSL"]),
        ("The weather in Oslo?", answer_after("get_weather", {"town": "Oslo"}, "1 validation error: extra inputs are not permitted.\n\nFix the errors and try again."), ["Oslo"]),
        ("The weather in Oslo?", answer_after("get_weather", {"city": "Oslo"}, "Busy, try again later."), []),
    ],
)  # fmt: skip
def test_what_live_models_call_next(prompt: str, later: tuple[Message, ...], made: list[str]) -> None:
    assert [arguments["city"] for _, arguments in calls(prompt, WEATHER, later=later)] == made
