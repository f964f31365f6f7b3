"""Chats as Mistral's clients ask for them: what a feature asks of a chat, in Mistral's words."""

from typing import Any

from mockserver.dialects import discover
from tests.dialects.features import FEATURES, PROMPT

Json = Any
URL = "/mistral/v1/chat/completions"


def names() -> list[str]:
    """The features of a chat that Mistral has."""
    able = discover()["mistral"].features
    return [
        name
        for name, feature in FEATURES.items()
        if (feature.needs is None or feature.needs in able) and not feature.only and "functions" not in feature.body
    ]


def request(name: str, *, stream: bool = False) -> dict[str, Json]:
    asked = FEATURES[name].body if name in FEATURES else {}
    made = {"model": name, "messages": [{"role": "user", "content": PROMPT}], **asked, "stream": stream}
    if made.get("tool_choice") == "required":
        made["tool_choice"] = "any"
    if "seed" in made:
        made["random_seed"] = made.pop("seed")
    return made
