"""Agents that call tools in text: the next step as the prompt shows it, then the end."""

import re

import pytest

from mockserver.core.call import Message
from mockserver.core.json import Json, compact
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from mockserver.model.notations import find_text_agent
from tests.kit.calls import call

REACT = """Answer the question. You have access to these tools:

{tools}

Use this format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [{names}]
Action Input: the input to the action
Observation: the result of the action
... (this can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

Question: {question}
Thought:"""
TOOLS = "get_weather(city: str) -> str - Get the weather of a city\nget_time(zone: str) -> str - Get the time in a zone"
CODE = """You solve tasks with Python code. At the end, call the `{end}` function with your answer.

Task: "What is 2 + 3?"

Thought: I can add them.
{opening}
{end}(2 + 3)
{closing}

You can call these functions:
{opening}
def get_weather(city: str) -> str:
    \"\"\"Get the weather of a city.\"\"\"

def {end}(answer: Any) -> Any:
    \"\"\"Takes the final answer.\"\"\"
{closing}
Begin!"""


def said(*messages: str | Message) -> str:
    return "".join(part.text for part in answer_as_model(call(*messages), Seed(1), {}).parts if isinstance(part, Text))


def react(question: str, *, tools: str = TOOLS, names: str = "get_weather, get_time") -> str:
    return REACT.format(question=question, tools=tools, names=names)


def test_react_takes_a_step_and_then_answers() -> None:
    prompt = react("What is the weather in Oslo?")
    step = said(prompt)
    assert step == "I should use get_weather.\nAction: get_weather\nAction Input: Oslo"
    final = said(f"{prompt} {step}\nObservation: 21 degrees and sunny\nThought:")
    assert final == "I now know the final answer\nFinal Answer: Weather (Oslo): 21 degrees and sunny."


def test_react_without_need_of_a_tool() -> None:
    assert said(react("What is 2 + 2?")).endswith("\nFinal Answer: 4")


@pytest.mark.parametrize(
    "entry", ["add(a: int, a: int)", 'add: Adds. args: {"a": {"type": "integer", "minimum": "b"}}']
)
def test_arguments_that_no_schema_can_describe(entry: str) -> None:
    assert "Action: add" not in said(react("add 2 and 3", tools=entry, names="add"))


def test_several_tools_are_called_one_after_the_other() -> None:
    prompt, called = react("Get the weather in Oslo, then get the time in Lisbon."), list[str]()
    for _ in range(5):
        step = said(prompt)
        if "Final Answer" in step:
            break
        called += re.findall(r"Action: (\w+)\nAction Input: (\w+)", step)
        prompt += f" {step}\nObservation: fine\nThought:"
    assert called == [("get_weather", "Oslo"), ("get_time", "Lisbon")]


def test_arguments_are_an_object_where_the_prompt_wants_one() -> None:
    arguments = "{'city': {'type': 'str'}, 'guests': {'type': 'int'}}"
    tools = f"Tool Name: book\nTool Arguments: {arguments}\nTool Description: Book a table"
    prompt = react("Book a table for 4 guests in Oslo.", tools=tools, names="book")
    assert 'Action: book\nAction Input: {"city":"Oslo","guests":4}' in said(prompt)
    told = " I book.\nAction: book\nAction Input: {'city': 'Oslo', 'guests': 4}\nObservation: done\nThought:"
    assert said(prompt + told).endswith("Final Answer: Book (Oslo, 4): done.")  # as LlamaIndex repeats arguments


def test_labels_in_signs_and_parameters_as_a_list() -> None:
    rules = """You have access to the following tools:

get_weather: Get the weather. Parameters: [{"name": "city", "type": "string", "description": "Its name"}]

✿FUNCTION✿: The tool to use, should be one of [get_weather]
✿ARGS✿: The input of the tool
✿RESULT✿: Tool results
✿RETURN✿: Reply based on tool results"""
    question = "What is the weather in Oslo?"
    step = said(Message("system", rules), question)
    assert step == 'I should use get_weather.\n✿FUNCTION✿: get_weather\n✿ARGS✿: {"city":"Oslo"}'
    made = Message("assistant", f"{step}\n✿RESULT✿: sunny\n✿RETURN✿")
    assert said(Message("system", rules), question, made) == "Weather (Oslo): sunny."


IN_TAGS = Message(
    "system",
    """You are provided with functions within <tools></tools>:
<tools>
{"name": "get_weather", "description": "Get the weather", "parameters": [{"name": "city", "type": "string"}]}
</tools>
For each function call, return an object within <tool_call></tool_call>:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>""",
)


def test_results_of_several_calls_in_one_message() -> None:
    asked = (IN_TAGS, "What is the weather in Oslo and Paris?")
    made = Message("assistant", said(*asked))
    seen = "<tool_response>\nsunny\n</tool_response>\n<tool_response>\nrain\n</tool_response>"
    assert said(*asked, made, seen) == "Weather (Oslo): sunny. Weather (Paris): rain."
    for whole in ("It is <b>5</b> degrees, <i>with</i> rain.", "<b>5</b> degrees, <b>with</b> rain."):
        assert said(*asked, made, whole) == f"Weather (Oslo): {whole} Weather (Paris): {whole}"


def test_tags_within_the_result_of_one_call_are_part_of_it() -> None:
    asked = (IN_TAGS, "What is the weather in Oslo?")
    seen = "It is <b>5</b> degrees, with rain until noon."
    assert said(*asked, Message("assistant", said(*asked)), seen) == f"Weather (Oslo): {seen}"


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_calls_in_a_list_of_which_only_the_schema_is_shown() -> None:
    def action(name: str, path: str, about: str) -> dict[str, Json]:
        fixed = {"name": {"const": name}, "path": {"const": path, "description": about}}
        properties = {**fixed, "input": CITY, "tag": {"type": "string"}}
        return {"type": "object", "properties": properties, "required": [*properties]}

    actions = [action("Weather", "get", "Get the weather of a city"), action("Time", "get", "Get the time in a city")]
    schema = compact({"type": "array", "items": {"anyOf": actions}, "$id": "Actions Schema"})
    rules = f"""Use the following format when executing actions:

Thought: <your thoughts>
Actions: <JSON array of actions that MUST follow this schema: {schema}>
<|Response|>: <action outputs>

Answer: <final answer>"""
    asked = (Message("system", rules), "What is the weather in Oslo?")
    step = said(*asked)
    assert step == 'Actions: [{"name":"Weather","path":"get","input":{"city":"Oslo"},"tag":"Weather_get"}]'
    assert said(*asked, Message("assistant", step), "<|Response|>: sunny") == "Answer: Weather get (Oslo): sunny."


def test_calls_whose_schema_names_the_tool_by_a_default() -> None:
    request = {"type": "string", "default": "city_info"}
    schema = compact({"properties": {"request": request, "city": {"type": "string"}}, "required": ["city", "request"]})
    rules = f"TOOL: city_info\n  PURPOSE: Present information about a <city>\n  JSON FORMAT: {schema}"
    step = said(Message("system", rules), "Present information about Lyon.")
    assert step == '{"request":"city_info","city":"Lyon"}'
    assert "city_info" not in said(Message("system", rules), "Hello!")


def test_steps_as_messages() -> None:
    rules, question = Message("system", react("").partition("Begin!")[0]), "What is the weather in Oslo?"
    step = said(rules, question)
    assert step.startswith("Thought: ")
    assert "Final Answer: Weather (Oslo): sunny." in said(
        rules, question, Message("assistant", step), "Observation: sunny"
    )
    assert "Action: get_weather\nAction Input: Rome" in said(
        rules, question, Message("assistant", "Final Answer: sunny"), "What is the weather in Rome?"
    )


def test_an_action_as_json() -> None:
    rules = """Valid "action" values: "Final Answer" or get_weather, get_time
```
{"action": $TOOL_NAME, "action_input": $INPUT}
```
get_weather(city: str) - Get the weather of a city"""
    assert '"action":"get_weather","action_input":"Oslo"' in said(
        Message("system", rules), "What is the weather in Oslo?"
    )


@pytest.mark.parametrize(
    ("end", "opening", "closing"),
    [("final_answer", "<code>", "</code>"), ("submit", "```py", "```<end_code>"), ("give_result", "```python", "```")],
)
def test_code_as_the_prompt_shows_it(end: str, opening: str, closing: str) -> None:
    rules = Message("system", CODE.format(end=end, opening=opening, closing=closing))
    step = said(rules, "What is the weather in Oslo?")
    assert step == f"Thought: I will call get_weather.\n{opening}\nprint(get_weather(city='Oslo'))\n{closing}"
    done = said(rules, "What is the weather in Oslo?", Message("assistant", step), "Observation:\nsunny")
    assert done == f"Thought: I have the final answer.\n{opening}\n{end}('Weather: sunny.')\n{closing}"
    assert said(rules, "What is 7 * 6?").endswith(f"{opening}\n{end}(42)\n{closing}")


def test_code_below_several_labels() -> None:
    shown = "Thought: what you think\nPlan: what comes next\n```py\nfinal_answer(42)\n```\n"
    rules = f"{shown}At the end, call final_answer(x)."
    assert said(Message("system", rules), "What is 2+2?").endswith("```py\nfinal_answer(4)\n```")


def test_a_plan_is_no_new_task() -> None:
    rules = Message("system", CODE.format(end="final_answer", opening="<code>", closing="</code>"))
    plan = Message("assistant", "First look up the weather.")
    step = said(rules, "What is the weather in Oslo?", plan, "Now proceed and carry out this plan.")
    assert "print(get_weather(city='Oslo'))" in step


@pytest.mark.parametrize(
    "text",
    [
        "Write a Python function finish() that ends a game.",
        "What does `submit()` do in this code?\n```js\nsubmit()\n```",
        "What is an action?\nAction: to act.",
        "Give me the final answer.",
    ],
)
def test_other_prompts_describe_no_agent(text: str) -> None:
    assert find_text_agent(call(text)) is None


@pytest.mark.parametrize(
    "piece", ["\n", " ", "Action: a\n", "def f(a: b):\n", "one of ", "```py\n", "submit(\n", "<a>\n"]
)
def test_no_prompt_is_too_odd(piece: str) -> None:
    assert said(react("?") + piece * (300_000 // len(piece)))


IN_SHELL = """Your response must contain exactly ONE bash code block with ONE command.
<format_example>
Your reasoning here.

```agent_command
your_command_here
```
</format_example>"""
TASK = """Please solve this issue: List the files with `ls`

## Recommended Workflow

1. Edit files.
2. Finish your work by issuing the following command: `echo TASK_DONE`."""


def test_commands_in_blocks_end_with_the_one_that_the_prompt_names() -> None:
    turns = [Message("system", IN_SHELL), Message("user", TASK)]
    written = []
    for _ in range(2):
        (part,) = answer_as_model(call(*turns), Seed(1), {}).parts
        assert isinstance(part, Text)
        written.append(part.text.partition("```")[2])
        turns += [Message("assistant", part.text), Message("user", "<output>\nnotes.txt\n</output>")]
    assert written == ["agent_command\nls\n```", "agent_command\necho TASK_DONE\n```"]


WITHOUT_TOOLS = """You may call one or more functions. Return a json object within <tool_call></tool_call> XML tags:

<tool_call>
{"name": <function-name>,"arguments": <args-dict>}
</tool_call>

Here are the available tools defined in JSON Schema:

<tools>

</tools>"""


def test_a_prompt_that_shows_calls_but_lists_no_tool_is_answered_in_words() -> None:
    asked = Message("user", "Say exactly: all is well")
    assert said(Message("system", WITHOUT_TOOLS), asked) == said(asked) == "all is well"
