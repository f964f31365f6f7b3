"""JSON as text: written without blanks, read without raising."""

import json
from typing import Any

Json = Any  # JSON is the one place where Any is honest

compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def parsed(text: str, otherwise: Json = None) -> Json:
    """The JSON of a text; `otherwise` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise
