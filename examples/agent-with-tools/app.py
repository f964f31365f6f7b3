"""A clerk of a shop, who looks orders up."""

import json
from typing import Any

from fireworks import Fireworks

MODEL = "accounts/fireworks/models/kimi-k2-instruct-0905"
ORDERS = {7: "on its way", 8: "lost"}
ROUNDS = 5  # after so many a conversation leads nowhere
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "Find out where an order is.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        },
    }
]


def find_order(number: int) -> str:
    """Where an order is."""
    return ORDERS.get(number, "there is no such order")


def ask(question: str) -> str:
    """The clerk's answer. Raises RuntimeError when there is none after a few rounds."""
    messages: list[Any] = [{"role": "user", "content": question}]
    with Fireworks() as client:
        for _ in range(ROUNDS):
            answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
            if not answer.tool_calls:
                return str(answer.content)
            messages.append(answer.model_dump(exclude_none=True))
            for call in answer.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": used(call.function)})
    raise RuntimeError(f"no answer after {ROUNDS} rounds")


def used(function: Any) -> str:
    """What a tool gives; a mistake of the model's is told to it."""
    try:
        return find_order(**json.loads(function.arguments))
    except (ValueError, TypeError) as error:
        return f"error: {error}"
