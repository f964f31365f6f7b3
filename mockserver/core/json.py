"""JSON text: encode it compactly, parse it without raising."""

import json
from typing import Any

Json = Any  # JSON is the one place where Any is honest

compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def parsed(text: str, otherwise: Json = None) -> Json:
    """The JSON value of a text, or `otherwise` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise
