"""Calls that prompts keep in text: each notation is written as shown, read back as a step, and ends with an answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.call import Message
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model import notations
from mockserver.model.auto import answer_as_model
from mockserver.model.notations import find_text_agent
from tests.kit.calls import call

WEATHER = {
    "name": "get_weather",
    "description": "Get the weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
IN_TAGS = f"""You may call functions. Here are the available tools: <tools> {json.dumps(WEATHER)} </tools>
For each function call return a json object within <tool_call></tool_call> XML tags as follows:
<tool_call>
{{"name": <function-name>, "arguments": <args-dict>}}
</tool_call>"""
IN_JSON = f"""You have access to these tools:
{json.dumps([WEATHER])}
To call a tool respond with only a JSON object: {{"tool": "<tool name>", "arguments": {{...}}}}."""
IN_LIST = f"""If you decide to invoke any function, you MUST put it in the format of
[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]
Here is a list of functions in JSON format that you can invoke.
{json.dumps([WEATHER])}"""
IN_ELEMENTS = """Tool use is formatted using XML-style tags.

## get_weather
Description: Get the weather in a city.
Parameters:
- city: (required) The city
Usage:
<get_weather>
<city>City here</city>
</get_weather>

## attempt_completion
Description: Present the result of your work to the user.
Usage:
<attempt_completion>
<result>Your final result here</result>
</attempt_completion>
"""
IN_NAMED_ELEMENTS = """You have access to the following tools:

get_weather(city: str) - Get the weather in a city.

In order to use a tool, you can use <tool></tool> and <tool_input></tool_input> tags. For example:

<tool>search</tool><tool_input>weather in SF</tool_input>
<observation>64 degrees</observation>

When you are done, respond with a final answer between <final_answer></final_answer>.
"""
NOTATIONS = {
    "tags": (IN_TAGS, '<tool_call>\n{"name":"get_weather","arguments":{"city":"Oslo"}}\n</tool_call>', "{}"),
    "json": (IN_JSON, '{"tool":"get_weather","arguments":{"city":"Oslo"}}', "{}"),
    "list": (IN_LIST, "[get_weather(city='Oslo')]", "{}"),
    "elements": (
        IN_ELEMENTS,
        "<get_weather>\n<city>Oslo</city>\n</get_weather>",
        "<attempt_completion>\n<result>{}</result>\n</attempt_completion>",
    ),
}


def said(*messages: str | Message, **asked: Any) -> str:
    return "".join(
        part.text for part in answer_as_model(call(*messages, **asked), Seed(1), {}).parts if isinstance(part, Text)
    )


@pytest.mark.parametrize("name", NOTATIONS)
def test_a_call_and_then_the_answer(name: str) -> None:
    rules, step, answer = NOTATIONS[name]
    asked = [Message("system", rules), Message("user", "What is the weather in Oslo?")]
    assert said(*asked) == step
    end = said(*asked, Message("assistant", step), Message("user", "sunny"))
    assert end.startswith(answer.partition("{}")[0])
    assert "sunny" in end
    assert end.endswith(answer.partition("{}")[2])


def test_the_arguments_of_a_call_may_be_shown_before_its_name() -> None:
    shown = '{"name": <function-name>, "arguments": <args-dict>}'
    assert shown in IN_TAGS
    rules = IN_TAGS.replace(shown, '{"arguments": <args-dict>, "name": <function-name>}')
    assert said(Message("system", rules), Message("user", "What is the weather in Oslo?")) == NOTATIONS["tags"][1]


def test_an_answer_in_json_may_be_a_call() -> None:
    shown = '{"name": "function_name", "arguments": {"a": "b"}}'
    rules = f"Produce JSON only, like {shown}. Functions:\n{json.dumps(WEATHER)}"
    asked = [Message("system", rules), Message("user", "What is the weather in Oslo?")]
    step = '{"name":"get_weather","arguments":{"city":"Oslo"}}'
    assert said(*asked, response_format="json_object") == step
    later = (*asked, Message("assistant", step), Message("user", "sunny"))
    assert json.loads(said(*later, response_format="json_object")) == {"answer": "Weather (Oslo): sunny."}


@pytest.mark.parametrize("name", NOTATIONS)
def test_no_call_without_need(name: str) -> None:
    assert "get_weather" not in said(Message("system", NOTATIONS[name][0]), Message("user", "What is 2 + 2?"))


def test_steps_in_the_same_text() -> None:
    prompt = f"{IN_NAMED_ELEMENTS}\nQuestion: What is the weather in Oslo?\n"
    step = said(prompt)
    assert step == "<tool>get_weather</tool><tool_input>Oslo</tool_input>"
    end = said(f"{prompt}{step}<observation>sunny</observation>")
    assert end == "<final_answer>Weather (Oslo): sunny.</final_answer>"


def test_the_task_of_a_client_is_what_it_wraps() -> None:
    task = "<task>\nWhat is the weather in Oslo?\n</task>\n\n<environment_details>\nnow\n</environment_details>"
    assert "<city>Oslo</city>" in said(Message("system", IN_ELEMENTS), Message("user", task))


@pytest.mark.parametrize(
    "text",
    [
        "Explain this JSON:\n" + json.dumps(WEATHER),
        "What does the tool <b>\n<c>x</c>\n</b> do? It uses XML tags.",
        "Call [func(a=1)]\nplease",
    ],
)
def test_what_is_merely_shown_is_no_agent(text: str) -> None:
    assert find_text_agent(call(text)) is None


ROWS = """Identify the entities (entity_type: one of the types [person,geo]) and the relationships of the text.
Format each entity as ("entity"<|><entity_name><|><entity_type><|><entity_description>)
Format each relationship as ("relationship"<|><source_entity><|><target_entity><|><description><|><strength>)
Use **##** as the list delimiter. When finished, output <|COMPLETE|>

Text:
Taylor looked at Jordan.
######
Output:
("entity"<|>"Taylor"<|>"person"<|>"Taylor looks at Jordan.")##
("relationship"<|>"Taylor"<|>"Jordan"<|>"Taylor looks at Jordan."<|>9)<|COMPLETE|>
######
-Real Data-
######
Entity_types: person,geo
Text: Ada met Charles Babbage.
The sea is deep.
######
Output:
"""


def test_rows_of_a_graph_are_about_the_last_text() -> None:
    rows = said(ROWS)
    assert rows.splitlines() == [
        '("entity"<|>"Ada"<|>"person"<|>"Ada met Charles Babbage.")##',
        '("entity"<|>"Charles Babbage"<|>"person"<|>"Ada met Charles Babbage.")##',
        '("relationship"<|>"Ada"<|>"Charles Babbage"<|>"Ada met Charles Babbage."<|>8)',
        "<|COMPLETE|>",
    ]
    more = Message("user", "Some entities were missed. Add them below:")
    assert said(ROWS, Message("assistant", rows), more) == "<|COMPLETE|>"  # and no row comes twice


def test_rows_of_a_graph_have_the_signs_and_cells_of_the_prompt() -> None:
    rules = (
        "Entity row: `entity<|#|>entity_name<|#|>entity_type<|#|>entity_description`\n"
        "Relation row: `relation<|#|>source_entity<|#|>target_entity<|#|>relationship_keywords<|#|>description`\n"
    )
    asked = (
        "Extract them from the `---Input Text---` section.\n\n---Input Text---\n```\nAda met Bob.\n```\n\n---Output---"
    )
    assert said(Message("system", rules), asked).splitlines() == [
        "entity<|#|>Ada<|#|>other<|#|>Ada met Bob.",
        "entity<|#|>Bob<|#|>other<|#|>Ada met Bob.",
        "relation<|#|>Ada<|#|>Bob<|#|>Ada, Bob<|#|>Ada met Bob.",
    ]


FILES = 'I have *added these files to the chat*.\n\ngreet.py\n```\ndef greet(name):\n    return "Hi " + name\n```\n'
SWAP = 'Replace "Hi " with "Hello "'
IN_BLOCKS = "All changes must use this *SEARCH/REPLACE block* format."
IN_FILES = "You MUST use this *file listing* format:\n\npath/to/it.js\n```\n// all of it\n```"
IN_DIFFS = "Return edits similar to unified diffs that `diff -U0` would produce."


@pytest.mark.parametrize(
    ("rules", "asked", "changes"),
    [
        (
            IN_BLOCKS,
            SWAP,
            'greet.py\n```\n<<<<<<< SEARCH\n    return "Hi " + name\n=======\n    return "Hello " + name\n'
            ">>>>>>> REPLACE\n```",
        ),
        (IN_FILES, SWAP, 'greet.py\n```\ndef greet(name):\n    return "Hello " + name\n```'),
        (
            IN_DIFFS,
            SWAP,
            "```diff\n--- greet.py\n+++ greet.py\n@@ ... @@\n"
            '-    return "Hi " + name\n+    return "Hello " + name\n```',
        ),
        (
            IN_BLOCKS,
            "Create tide.sh that shows the tide",
            'tide.sh\n```\n<<<<<<< SEARCH\n=======\necho "Create tide.sh that shows the tide"\n>>>>>>> REPLACE\n```',
        ),
        (IN_BLOCKS, "Say exactly: all is well", "all is well"),
    ],
)
def test_changes_of_files_as_the_prompt_wants_them(rules: str, asked: str, changes: str) -> None:
    assert said(Message("system", rules + "\n"), FILES, Message("assistant", "Ok."), asked) == changes


def test_what_is_ordered_of_a_file_comes_behind_its_last_line() -> None:
    change = said(Message("system", IN_BLOCKS + "\n"), FILES, "Add a function wave() to greet.py")
    assert change.startswith(
        'greet.py\n```\n<<<<<<< SEARCH\n    return "Hi " + name\n=======\n    return "Hi " + name\n\n\ndef'
    )


@pytest.mark.parametrize(
    ("rules", "piece"),
    [
        (ROWS, "entity<|>a<|>b<|>"),
        (ROWS, "Types: a,"),
        (ROWS, "Ada met Bob "),
        (IN_BLOCKS, "a.py\n```\nx\n"),
        (IN_BLOCKS, 'Replace "a" '),
    ],
)
def test_no_prompt_of_rows_or_changes_is_too_odd(rules: str, piece: str) -> None:
    many = piece * (200_000 // len(piece))
    assert said(Message("system", f"{rules}\n{many}"), many)


SLASHES = '''"""Calls as commands of a chat: `/get_weather city=Oslo`."""

import re

from mockserver.model.notations import AgentStep, TextAgent, make_agent_call, read_steps, read_tools


def read(call, prompt):
    if "begin a line with a slash" not in prompt:
        return None
    request, steps = read_steps(call, read_calls)
    return TextAgent(make_agent_call(call, request, tools=read_tools(prompt), steps=steps), write_calls, str)


def read_calls(text):
    return (AgentStep(*made) for made in re.findall(r"(?m)^/(\\w+) (.*)", text))


def write_calls(calls):
    return "\\n".join(f"/{made.name} {made.arguments}" for made in calls)
'''


@pytest.fixture
def slashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the notation above beside the others."""
    (tmp_path / "slashes.py").write_text(SLASHES)
    monkeypatch.setattr(notations, "__path__", [*notations.__path__, str(tmp_path)])
    notations.list_readers.cache_clear()
    yield
    notations.list_readers.cache_clear()


@pytest.mark.usefixtures("slashes")
def test_a_notation_is_a_module_of_its_own() -> None:
    rules = """To use a tool, begin a line with a slash. These are the tools:

- get_weather(city: str): Get the weather in a city
"""
    asked = [Message("system", rules), Message("user", "What is the weather in Oslo?")]
    step = '/get_weather {"city":"Oslo"}'
    assert said(*asked) == step
    assert said(*asked, Message("assistant", step), Message("user", "sunny")) == "Weather (Oslo): sunny."


@pytest.mark.parametrize("piece", ["<tool_call>{", '{"name": <a>, ', "[func(param=", "<read>\n<a>b</a>\n", "## read\n"])
def test_no_prompt_is_too_odd(piece: str) -> None:
    assert said(Message("system", IN_TAGS + piece * (200_000 // len(piece))), "tool XML?\nyes")
