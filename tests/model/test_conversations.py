"""Requests of real libraries and their answers, by a corpus: tools with their arguments, or a value in a format."""

import json
from collections.abc import Mapping
from itertools import starmap
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call
from tests.kit.loops import read_schema, rows
from tests.model.arguments.test_corpus import flaws


@pytest.mark.parametrize("row", rows("conversations"), ids=lambda row: str(row.get("say", row.get("turns")))[:60])
def test_a_conversation_gets_its_answer(row: Mapping[str, Any]) -> None:
    answered = answer(row)
    assert not list(flaws(row["gives"], answered, {"say": "", **row})), answered


def answer(row: Mapping[str, Any]) -> Any:
    system = [Message("system", row["system"])] if "system" in row else []
    said = [Message("user", row["say"])] if "say" in row else []
    schema = read_schema(row["format"]) if "format" in row else None
    asked = call(
        *system,
        *map(_turn, row.get("turns", ())),
        *said,
        tool_choice=ToolChoice(row.get("choice", "auto"), (row["name"],) if "name" in row else ()),
        response_format="json_schema" if schema else "text",
        schema=schema,
    )
    parts = answer_as_model(
        replace(asked, tools=tuple(starmap(_tool, row.get("tools", {}).items()))), Seed(1), {}
    ).parts
    made = [{part.call.name: json.loads(part.call.arguments)} for part in parts if isinstance(part, ToolUse)]
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return made or (json.loads(text) if schema or "as" in row else text)


def _tool(name: str, told: Mapping[str, Any]) -> Tool:
    return Tool(name, told.get("about", ""), read_schema({key: kind for key, kind in told.items() if key != "about"}))


def _turn(said: Mapping[str, Any]) -> Message:
    ((who, what),) = said.items()
    if isinstance(what, dict):
        return Message("assistant", tool_calls=(ToolCall(f"of_{who}", who, json.dumps(what)),))
    return Message(who, what) if who in ("user", "assistant") else Message("tool", what, tool_call_id=f"of_{who}")
