"""Sorts the letters that customers write."""

import json
from dataclasses import dataclass

from openai import OpenAI

DESKS = ("billing", "delivery", "returns")
ORDERS = f"""You sort letters to an online shop. Answer in JSON with two keys:
desk, one of {", ".join(DESKS)}, and urgent, true if the customer cannot wait."""


@dataclass(frozen=True)
class Ticket:
    """A letter, the desk that it belongs to, and whether it is urgent."""

    letter: str
    desk: str
    urgent: bool


def sort(letter: str) -> Ticket:
    """Have a model read a letter. What it makes nothing of goes to a person, at once."""
    answer = OpenAI().chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "system", "content": ORDERS}, {"role": "user", "content": letter}],
        response_format={"type": "json_object"},
    )
    try:
        read = json.loads(answer.choices[0].message.content or "")
        desk, urgent = read["desk"], read["urgent"]
    except (ValueError, KeyError, TypeError):
        desk, urgent = "", True
    return Ticket(letter, desk if desk in DESKS else "a person", urgent)
