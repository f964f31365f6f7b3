"""What answers to prompts look like, for tests with many phrasings of the same order."""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

from mockserver.core.call import Message
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call

Check = Callable[[str], bool]
Phrasings = dict[str, list[tuple[str, Check]]]  # by what is ordered; "rules ¦ what the user says"


def answer_prompt(prompt: str, seed: str) -> str:
    rules, _, said = prompt.rpartition(" ¦ ")
    messages = [Message("system", rules)] if rules else []
    parts = answer_as_model(call(*messages, Message("user", said)), Seed(seed), {}).parts
    return "".join(part.text for part in parts if isinstance(part, Text))


def matches(pattern: str) -> Check:
    return lambda text: re.fullmatch(pattern, text.strip(), re.DOTALL) is not None


def is_json(expected: Any) -> Check:
    """JSON that is equal, or for which a function holds."""

    def holds(text: str) -> bool:
        fenced = re.fullmatch(r"```(?:json)?\n(.*)\n```", text.strip(), re.DOTALL)
        value = json.loads(fenced[1] if fenced else text)
        return bool(expected(value)) if callable(expected) else value == expected

    return holds


def is_literal(holds: Callable[[Any], bool]) -> Check:
    return lambda text: holds(ast.literal_eval(text))


def keys(*names: str) -> Check:
    return is_json(lambda value: list(value) == [*names])


def rows(number: int, *names: str) -> Check:
    return is_json(lambda value: len(value) == number and all(list(row) == [*names] for row in value))


def is_lines(number: int, pattern: str = r".{3,}", between: str = "\n") -> Check:
    def holds(text: str) -> bool:
        items = text.strip().split(between)
        return len(items) == len(set(items)) == number and all(re.fullmatch(pattern, item) for item in items)

    return holds


def is_row(number: int, pattern: str = r"[^,\n]{2,}") -> Check:
    return is_lines(number, pattern, ", ")


def orders(phrasings: Phrasings) -> list[tuple[str, Check]]:
    return [case for cases in phrasings.values() for case in cases]


def check_order(prompt: str, check: Check) -> None:
    for seed in ("0", "5"):
        assert check(answer_prompt(prompt, seed)), answer_prompt(prompt, seed)
