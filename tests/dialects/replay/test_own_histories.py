"""What the server itself said comes back: as it was, without a remark; changed, with the provider's own refusal."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.replay.histories import (
    AZURE_CHAT,
    AZURE_RESPONSES,
    CEREBRAS,
    CHAT,
    DEEPSEEK,
    GEMINI,
    GROQ,
    MESSAGES,
    RESPONSES,
    Way,
    make_message,
    server,
)

Json = Any
Change = Callable[[Json], Any]

TRUE = {
    "a call of Anthropic": (MESSAGES, "claude-opus-4-8", ("weather",)),
    "two calls at once": (MESSAGES, "claude-sonnet-4-5", ("both", "more")),
    "thoughts between texts": (MESSAGES, "claude-haiku-5-5", ("twice", "twice", "hm")),
    "bound thoughts": (MESSAGES, "claude-fable-5-2", ("weather", "twice", "hm", "twice")),
    "a call of Gemini 3": (GEMINI, "gemini-3-pro-preview", ("weather",)),
    "two calls of Gemini 3": (GEMINI, "gemini-3.7-flash", ("both",)),
    "a call of Gemini 2.5": (GEMINI, "gemini-2.5-flash", ("weather", "more")),
    "the newest Gemini": (GEMINI, "gemini-flash-latest", ("weather",)),
    "a call of Responses": (RESPONSES, "gpt-5", ("weather", "more")),
    "two calls of Responses": (RESPONSES, "gpt-5", ("both", "twice", "more")),
    "Responses of Azure": (AZURE_RESPONSES, "my-deployment", ("weather", "more")),
    "a call of a chat": (CHAT, "gpt-4o", ("weather", "more")),
    "two calls of a chat of Azure": (AZURE_CHAT, "gpt-4o", ("both", "more")),
    "two calls of DeepSeek": (DEEPSEEK, "deepseek-v4-flash", ("both", "more")),
    "a call of Groq": (GROQ, "openai/gpt-oss-120b", ("weather", "more")),
    "a call of Cerebras": (CEREBRAS, "gpt-oss-120b", ("weather", "more")),
}


@pytest.mark.parametrize("mode", ["warn", "error"])
@pytest.mark.parametrize(("way", "model", "said"), TRUE.values(), ids=TRUE.keys())
def test_true_histories(way: Way, model: str, said: tuple[str, ...], mode: str) -> None:
    asked = server(replay=mode, unmatched="error")
    answered = way.ask(asked, way.conversation(asked, *said, model=model), model)
    assert (answered.status, answered.remarks) == (200, ())


def answers(body: Json, key: str = "messages") -> list[Json]:
    return [message for message in body[key] if message.get("role") in ("assistant", "model")]


def thought(body: Json, at: int = -1) -> Json:
    return answers(body)[at]["content"][0]


def edit(place: Json, **changes: Json) -> None:
    place.update(changes)


def cut(text: str) -> str:
    return text[:-8]


def flipped(text: str) -> str:
    return text[:-9] + ("A" if text[-9] != "A" else "B") + text[-8:]


def reordered(body: Json) -> None:
    content = answers(body)[-1]["content"]
    content[0], content[2] = content[2], content[0]


def merged(body: Json) -> None:
    content = answers(body)[-1]["content"]
    content[0]["thinking"] += content.pop(2)["thinking"]


def items(body: Json, kind: str) -> list[Json]:
    return [item for item in body["input"] if item.get("type") == kind]


def without(body: Json, *dropped: Json) -> None:
    body["input"] = [item for item in body["input"] if not any(item is one for one in dropped)]


def part_of_call(body: Json) -> Json:
    return next(part for each in answers(body, "contents") for part in each["parts"] if "functionCall" in part)


SIGNATURE = "Invalid `signature` in `thinking` block"
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
SYSTEM = " The `system` prompt differs from the one this block was created with."
MISSING_THOUGHT = " The `thinking` block that preceded this one when it was created is missing from this request."
UNSIGNED_CALL = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:look` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details."
)
FABLE, OPUS = "claude-fable-5-2", "claude-opus-4-8"
Changed = tuple[Way, str, tuple[str, ...], Change, str, str]

ANTHROPIC: dict[str, Changed] = {
    "signature edited": (
        MESSAGES, OPUS, ("weather",),
        lambda body: edit(thought(body), signature=flipped(thought(body)["signature"])),
        "messages.1.content.0", f"messages.1.content.0: {SIGNATURE}",
    ),
    "signature cut": (
        MESSAGES, "claude-3-7-sonnet-latest", ("weather",),
        lambda body: edit(thought(body), signature=cut(thought(body)["signature"])),
        "messages.1.content.0", f"messages.1.content.0: {SIGNATURE}",
    ),
    "signature that is none": (
        MESSAGES, OPUS, ("weather",),
        lambda body: edit(thought(body), signature="not a signature"),
        "messages.1.content.0", f"messages.1.content.0: {SIGNATURE}",
    ),
    "empty signature": (
        MESSAGES, OPUS, ("weather",),
        lambda body: edit(thought(body), signature=""),
        "messages.1.content.0", f"messages.1.content.0: {SIGNATURE}",
    ),
    "an earlier thought edited": (
        MESSAGES, OPUS, ("weather", "hm", "more"),
        lambda body: edit(thought(body, 0), thinking="Something else."),
        "messages.1.content.0", f"messages.1.content.0: {SIGNATURE}",
    ),
    "the latest thought edited": (
        MESSAGES, OPUS, ("hello", "hm"),
        lambda body: edit(thought(body), thinking="Something else."),
        "messages.3.content.0", f"messages.3.content.0: {MODIFIED}",
    ),
    "the latest thoughts in another order": (
        MESSAGES, OPUS, ("twice",), reordered,
        "messages.1.content.2", f"messages.1.content.2: {MODIFIED}",
    ),
    "the latest thoughts merged": (
        MESSAGES, OPUS, ("twice",), merged,
        "messages.1.content.0", f"messages.1.content.0: {MODIFIED}",
    ),
    "another system prompt": (
        MESSAGES, FABLE, ("weather",),
        lambda body: edit(body, system="Be verbose."),
        "messages.1.content.0", f"messages.1.content.0: {BOUND}{SYSTEM}",
    ),
    "another tool": (
        MESSAGES, "claude-fable-6", ("weather",),
        lambda body: body["tools"].append({"name": "other", "input_schema": {"type": "object"}}),
        "messages.1.content.0", f"messages.1.content.0: {BOUND}",
    ),
    "another question": (
        MESSAGES, "claude-fable-5-1-20260901", ("weather", "hm"),
        lambda body: edit(body["messages"][0], content="weather, please"),
        "messages.1.content.0", f"messages.1.content.0: {BOUND}",
    ),
    "another answer before": (
        MESSAGES, FABLE, ("hello", "hm"),
        lambda body: edit(body["messages"][1]["content"][1], text="Rainy."),
        "messages.3.content.0", f"messages.3.content.0: {BOUND}",
    ),
    "a thought between others left out": (
        MESSAGES, FABLE, ("one", "two", "three"),
        lambda body: body["messages"][3]["content"].pop(0),
        "messages.5.content.0", f"messages.5.content.0: {BOUND}{MISSING_THOUGHT}",
    ),
}  # fmt: skip
GOOGLE: dict[str, Changed] = {
    "signature lost": (
        GEMINI, "gemini-3-flash-preview", ("weather",),
        lambda body: part_of_call(body).pop("thoughtSignature"),
        "contents[1].parts[0]", UNSIGNED_CALL,
    ),
    "signature lost by the newest": (
        GEMINI, "gemini-pro-latest", ("both",),
        lambda body: part_of_call(body).pop("thoughtSignature"),
        "contents[1].parts[0]", UNSIGNED_CALL,
    ),
    "signature edited": (
        GEMINI, "gemini-3-pro-preview", ("weather",),
        lambda body: edit(part_of_call(body), thoughtSignature=flipped(part_of_call(body)["thoughtSignature"])),
        "contents[1].parts[0]", "Corrupted thought signature.",
    ),
    "signature cut": (
        GEMINI, "gemini-3.7-flash", ("weather",),
        lambda body: edit(part_of_call(body), thoughtSignature=cut(part_of_call(body)["thoughtSignature"])),
        "contents[1].parts[0]", "Invalid thought signature.",
    ),
}  # fmt: skip
ENCRYPTED = "could not be verified. Reason: Encrypted content could not be decrypted or parsed."
OPENAI: dict[str, Changed] = {
    "a call without its reasoning": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: without(body, *items(body, "reasoning")),

            "input[1]",
            "Item '{call}' of type 'function_call' was provided without its required 'reasoning' item: '{rs}'.",

    ),
    "reasoning without its call": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: without(body, *items(body, "function_call"), *items(body, "function_call_output")),
        "input[1]", "Item '{rs}' of type 'reasoning' was provided without its required following item.",
    ),
    "reasoning at the end": (
        AZURE_RESPONSES, "my-deployment", ("hello",),
        lambda body: without(body, *body["input"][2:]),
        "input[1]", "Item '{rs}' of type 'reasoning' was provided without its required following item.",
    ),
    "encrypted content edited": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: edit(items(body, "reasoning")[0], encrypted_content="gAAAnot really"),
        "input[1].encrypted_content", f"The encrypted content for item {{rs}} {ENCRYPTED}",
    ),
    "encrypted content cut, without its id": (
        RESPONSES, "gpt-5", ("hello",),
        lambda body: edit(
            items(body, "reasoning")[0],
            id=None,
            encrypted_content=cut(items(body, "reasoning")[0]["encrypted_content"]),
        ),
        "input[1].encrypted_content", f"The encrypted content gAAA...{{end}} {ENCRYPTED}",
    ),
    "an item twice": (
        RESPONSES, "gpt-5", ("hello",),
        lambda body: body["input"].append({"type": "item_reference", "id": items(body, "reasoning")[0]["id"]}),
        "input[4]", "Duplicate item found with id {rs}. Remove duplicate items from your input and try again.",
    ),
    "an id of another kind": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: edit(items(body, "function_call")[0], id="item_1"),
        "input[2].id", "Invalid 'input[2].id': 'item_1'. Expected an ID that begins with 'fc'.",
    ),
    "a long call_id": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: [edit(item, call_id="c" * 86) for item in body["input"] if "call_id" in item],
        "input[2].call_id",
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 86 instead.",
    ),
    "an output without its call": (
        AZURE_RESPONSES, "my-deployment", ("weather",),
        lambda body: without(body, *items(body, "function_call"), *items(body, "reasoning")),
        "input[1]", "No tool call found for function call output with call_id {call_id}.",
    ),
    "a call without its output": (
        RESPONSES, "gpt-5", ("weather",),
        lambda body: without(body, *items(body, "function_call_output")),
        "input[2]", "No tool output found for function call {call_id}.",
    ),
    "an input text of the assistant": (
        RESPONSES, "gpt-4.1", ("hello",),
        lambda body: edit(items(body, "message")[0]["content"][0], type="input_text"),
        "input[2].content[0]", "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    "no calls in a list": (
        CHAT, "gpt-4o", ("hello",),
        lambda body: edit(answers(body)[0], tool_calls=[]),
        "messages[1].tool_calls",
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
    ),
    "a long id of a call": (
        CHAT, "gpt-4o", ("weather",),
        lambda body: (
            edit(answers(body)[0]["tool_calls"][0], id="c" * 41),
            edit(body["messages"][2], tool_call_id="c" * 41),
        ),
        "messages[1].tool_calls[0].id",
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
        "string with length 41 instead.",
    ),
    "an empty name": (
        AZURE_CHAT, "gpt-4o", ("weather",),
        lambda body: edit(answers(body)[0]["tool_calls"][0]["function"], name=""),
        "messages[1].tool_calls[0].function.name",
        "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a string with minimum length 1, but "
        "got an empty string instead.",
    ),
    "a call without a tool message": (
        CHAT, "gpt-4o", ("weather",),
        lambda body: body["messages"].pop(2),
        "messages[1]",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {call}",
    ),
    "a tool message without a call": (
        AZURE_CHAT, "gpt-4o", ("weather",),
        lambda body: body["messages"].pop(1),
        "messages[1]",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
}  # fmt: skip
UNTHOUGHT = "The `reasoning_content` in the thinking mode must be passed back to the API."
UNTHOUGHT_BEFORE = (
    "Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer "
    "to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
)


def lose_thoughts(body: Json) -> None:
    answers(body)[0].pop("reasoning_content")


def rename_thoughts(body: Json) -> None:
    answers(body)[0]["reasoning_content"] = answers(body)[0].pop("reasoning")


HOSTS: dict[str, Changed] = {
    "a call without its reasoning": (
        DEEPSEEK, "deepseek-v4-pro", ("weather",),
        lose_thoughts, "messages[1].reasoning_content", UNTHOUGHT,
    ),
    "a call without its reasoning, earlier model": (
        DEEPSEEK, "deepseek-reasoner", ("weather",),
        lambda body: (lose_thoughts(body), body["messages"].pop()),  # with the user's next turn, it is not wanted
        "messages[1].reasoning_content", UNTHOUGHT_BEFORE,
    ),
    "a call with reasoning of another name, Groq": (
        GROQ, "openai/gpt-oss-120b", ("weather",),
        rename_thoughts, "messages[1].reasoning_content",
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
        "'reasoning_content' is unsupported)]",
    ),
    "a call with reasoning of another name, Cerebras": (
        CEREBRAS, "gpt-oss-120b", ("weather",),
        rename_thoughts, "messages[1].reasoning_content",
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
    ),
}  # fmt: skip
CHANGED = {**{f"anthropic: {name}": case for name, case in ANTHROPIC.items()}}
CHANGED |= {f"gemini: {name}": case for name, case in GOOGLE.items()}
CHANGED |= {f"openai: {name}": case for name, case in OPENAI.items()}
CHANGED |= {f"hosts: {name}": case for name, case in HOSTS.items()}


def names_in(body: Json) -> dict[str, str]:
    """The ids that a message may quote, before they are changed, and the end of what will be cut."""
    named = dict[str, str]()
    for item in body.get("input") or ():
        if item.get("type") == "reasoning":
            named |= {"rs": item["id"], "end": cut(item["encrypted_content"])[-4:]}
        if item.get("type") == "function_call":
            named |= {"call": item["id"], "call_id": item["call_id"]}
    for message in body.get("messages") or ():
        for call in message.get("tool_calls") or ():
            named["call"] = call["id"]
    return named


@pytest.mark.parametrize(("way", "model", "said", "change", "place", "message"), CHANGED.values(), ids=CHANGED.keys())
def test_changed_histories(
    way: Way, model: str, said: tuple[str, ...], change: Change, place: str, message: str
) -> None:
    warns, refuses, silent = server(), server(replay="error"), server(replay="off")
    body = way.conversation(warns, *said, model=model)
    quoted = names_in(body)
    message = message.format(**quoted) if "{" in message else message
    change(body)

    remarked = way.ask(warns, body, model)
    told = f'{place}: the live provider refuses this history with 400 "{message}"; '
    assert [remark for remark in remarked.remarks if remark.startswith(told)], remarked.remarks
    assert remarked.remarks[0].removeprefix(told)
    refused = way.ask(refuses, body, model)
    assert (refused.status, make_message(refused), refused.source) == (400, message, "invalid")
    unremarked = way.ask(silent, body, model)
    assert (unremarked.status, unremarked.remarks, unremarked.body) == (200, (), remarked.body)


PROVIDERS_FIELDS = {
    "a call without its reasoning": ("input", None),
    "encrypted content edited": (None, "invalid_encrypted_content"),
    "an item twice": ("input", None),
    "an id of another kind": ("input[2].id", "invalid_value"),
    "a long call_id": ("input[2].call_id", "string_above_max_length"),
    "an output without its call": ("input", None),
    "an input text of the assistant": ("input[2].content[0]", "invalid_value"),
    "no calls in a list": ("messages[1].tool_calls", "empty_array"),
    "a long id of a call": ("messages[1].tool_calls[0].id", "string_above_max_length"),
    "an empty name": ("messages[1].tool_calls[0].function.name", "empty_string"),
}


@pytest.mark.parametrize("name", PROVIDERS_FIELDS)
def test_fields_of_openais_errors(name: str) -> None:
    way, model, said, change, *_ = OPENAI[name]
    asked = server(replay="error")
    body = way.conversation(asked, *said, model=model)
    change(body)
    error = way.ask(asked, body, model).json["error"]
    assert (error["param"], error["code"], error["type"]) == (*PROVIDERS_FIELDS[name], "invalid_request_error")


def test_items_that_nobody_has() -> None:
    """What was made with `store: false` can be sent back whole only."""
    asked, refuses = server(), server(replay="error")
    body = RESPONSES.conversation(asked, "weather", model="gpt-5", store=False)
    assert RESPONSES.ask(asked, body, "gpt-5").remarks == ()
    name = items(body, "reasoning")[0]["id"]
    text = (
        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )
    for bare in ({"type": "item_reference", "id": name}, {"type": "reasoning", "id": name, "summary": []}):
        sent = {**body, "input": [bare if item.get("id") == name else item for item in body["input"]]}
        refused = RESPONSES.ask(refuses, sent, "gpt-5")
        assert (refused.status, make_message(refused)) == (404, text)
        (remark,) = RESPONSES.ask(asked, sent, "gpt-5").remarks
        assert remark.startswith(f'input[1]: the live provider refuses this history with 404 "{text}"; with `store: ')
    stored = RESPONSES.conversation(asked, "weather", model="gpt-5")
    stored["input"] = [
        {"type": "item_reference", "id": item["id"]} if str(item.get("id")).startswith(("rs_", "fc_")) else item
        for item in stored["input"]
    ]
    assert RESPONSES.ask(asked, stored, "gpt-5").remarks == ()


def test_a_call_without_reasoning_that_nobody_keeps() -> None:
    asked = server()
    body = RESPONSES.conversation(asked, "weather", model="gpt-5", store=False)
    without(body, *items(body, "reasoning"))
    assert RESPONSES.ask(asked, body, "gpt-5").remarks == ()
    body = RESPONSES.conversation(asked, "weather", model="gpt-4o")  # which needs no reasoning
    without(body, *items(body, "reasoning"))
    assert RESPONSES.ask(asked, body, "gpt-4o").remarks == ()


SAME = {
    "marks for caching": lambda body: [
        *(edit(each["content"][-1], cache_control={"type": "ephemeral"}) for each in body["messages"][1:3]),
        edit(body["tools"][0], cache_control={"type": "ephemeral"}),
    ],
    "texts as blocks": lambda body: [
        edit(body, system=[{"type": "text", "text": body["system"], "cache_control": None}]),
        edit(body["messages"][0], content=[{"type": "text", "text": body["messages"][0]["content"]}]),
    ],
    "what tells who called": lambda body: [
        block.pop("caller", None) for each in answers(body) for block in each["content"]
    ],
    "numbers as doubles": lambda body: edit(answers(body)[0]["content"][1], input={"days": 1.0, "city": "Zürich"}),
    "thoughts of the first turns left out": lambda body: answers(body)[0]["content"].pop(0),
    "all thoughts left out": lambda body: [
        edit(each, content=[block for block in each["content"] if block["type"] != "thinking"])
        for each in answers(body)
    ],
    "more at the end": lambda body: body["messages"].append({"role": "user", "content": "Really."}),
    "a turn in two messages": lambda body: body["messages"].insert(
        3, {"role": "user", "content": [body["messages"][2]["content"].pop()]}
    ),
    "another model": lambda body: edit(body, model=OPUS),
    "blocks dropped on request": lambda body: edit(body, system="Other.", thinking=DROPPED),
}
DROPPED = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize("name", [name for name in SAME if name != "blocks dropped on request"])
def test_bound_thoughts_allow(name: str) -> None:
    asked = server()
    body = MESSAGES.conversation(asked, "weather", "hm", "more", model=FABLE)
    SAME[name](body)
    sent = json.loads(json.dumps({"model": FABLE, **body}, sort_keys=True))
    assert MESSAGES.ask(asked, sent, sent["model"]).remarks == ()


def test_the_beta_header_is_not_asked_for_twice() -> None:
    asked = server()
    body = MESSAGES.conversation(asked, "weather", model=FABLE)
    body["system"] = "Other."
    (remark,) = MESSAGES.ask(asked, body, FABLE, **{"anthropic-beta": "thinking-binding-controls-2026-08-01"}).remarks
    assert f'to "drop_block".{SYSTEM}"' in remark


def test_hidden_thoughts() -> None:
    asked = server()
    shown = {"thinking": {"type": "adaptive", "display": "omitted"}}
    body = MESSAGES.conversation(asked, "twice", model=FABLE, **shown)
    assert thought(body)["thinking"] == ""
    assert MESSAGES.ask(asked, body, FABLE).remarks == ()


def test_signatures_of_another_provider() -> None:
    """A gateway that turns the history of one provider into that of another sends signatures that neither takes."""
    asked = server()
    signed = part_of_call(GEMINI.conversation(asked, "weather", model="gemini-3-pro"))["thoughtSignature"]
    body = MESSAGES.conversation(asked, "weather", model=OPUS)
    mine = thought(body)["signature"]
    thought(body)["signature"] = signed
    assert f"messages.1.content.0: {SIGNATURE}" in MESSAGES.ask(asked, body, OPUS).remarks[0]
    body = GEMINI.conversation(asked, "weather", model="gemini-3-pro")
    part_of_call(body)["thoughtSignature"] = mine
    assert "Corrupted thought signature." in GEMINI.ask(asked, body, "gemini-3-pro").remarks[0]


GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "keeping-history.md"
UNTESTED = (  # of what validation refuses first
    "thinking.signature: Field required",
    "`tool_use` ids were found without `tool_result` blocks immediately after",
    "unexpected `tool_use_id` found in `tool_result` blocks",
    "Expected toolResult blocks at messages.2.content for the following Ids",
    "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn",
    "The toolConfig field must be defined when using toolUse and toolResult content blocks",
    "A conversation must alternate between user and assistant roles",
    # which have tests of their own
    "Items are not persisted when `store` is set to false",
    "insufficient tool messages following tool_calls message",
    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "user or tool message(s) should alternate with assistant message(s)",
    "Last message must have role `user` or `tool`",
    "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9",
    "Unexpected role 'user' after role 'tool'",
    "Not the same number of function calls and responses",
    "Assistant message must have either content or tool_calls, but not none",
    "Expected last role User or Tool (or Assistant with prefix True)",
)


def test_the_guide_has_the_words_of_each_provider() -> None:
    tables = GUIDE.read_text(encoding="utf-8").split("| the provider's error |")[1:]
    titles = [row for table in tables for row in re.findall(r"^\| (?!---)(.+?) \| ", table, re.MULTILINE)]
    messages = [message for *_, message in CHANGED.values()]
    untold = [message for message in messages if not any(_is_in(title, message) for title in titles)]
    assert not untold
    unknown = [title for title in titles if not any(_is_in(title, message) for message in messages)]
    assert unknown == list(UNTESTED)


def _is_in(title: str, message: str) -> bool:
    return re.search(re.escape(title).replace("…", ".*"), message) is not None
