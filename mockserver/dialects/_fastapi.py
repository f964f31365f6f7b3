"""What FastAPI says of a body that is not a JSON object, as the servers of Fireworks, Mistral and vLLM do.

Source: https://fastapi.tiangolo.com/tutorial/handling-errors, and Pydantic's errors
(https://docs.pydantic.dev/latest/errors/validation_errors).
"""

import json
import re
from collections.abc import Mapping

from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._parse import BAD_JSON, OTHER_MEDIA, clip


def describe_unreadable(http: HttpRequest, failure: Failure) -> Mapping[str, Json] | None:
    """Return the entry of `detail` for a body that is not a JSON object; None for any other failure."""
    message = failure.message or ""
    if not message.startswith((BAD_JSON, OTHER_MEDIA)):
        return None
    if not http.body:
        return {"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}
    text = http.body.decode("utf-8", "replace")
    if message.startswith(OTHER_MEDIA):
        return _refuse_value(clip(text, _MAX_QUOTED))
    why = message.removeprefix(BAD_JSON).rstrip(".")
    place = _find_place(why, http.body)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        why = error.msg
        place = error.pos
    except (ValueError, RecursionError):
        pass
    else:
        if not isinstance(value, dict):
            return _refuse_value(value)
    return {
        "type": "json_invalid",
        "loc": ["body", place],
        "msg": "JSON decode error",
        "input": {},
        "ctx": {"error": why},
    }


def _find_place(why: str, body: bytes) -> int:
    """Return the character at which JSON is refused that Python would read, such as a key that occurs twice."""
    found = re.search(r"line (\d+) column (\d+)$", why)
    if found is None:
        return 0
    rest = body.split(b"\n", int(found[1]) - 1)[-1]
    return len(body[: len(body) - len(rest) + int(found[2]) - 1].decode("utf-8", "replace"))


def _refuse_value(value: Json) -> Mapping[str, Json]:
    message = "Input should be a valid dictionary or object to extract fields from"
    return {"type": "model_attributes_type", "loc": ["body"], "msg": message, "input": value}


_MAX_QUOTED = 1_000  # characters of a body that are quoted
