"""What Fireworks says of a body that it refuses: FastAPI's 422, a list of all that pydantic holds against it.

Knows no field of any body. Long values are quoted shortened.
"""

import re
from collections.abc import Mapping, Sequence

from jiter import from_json
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from mockserver.core.call import Json
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._shared.parse import Body, Complaint, clip, read_object

Detail = Mapping[str, Json]


def refusal(*details: Detail) -> Failure:
    """The 422 that lists these details."""
    return Failure("bad_parameter", str(details[0]["msg"]), status=422, details={"detail": list(details)})


def refuse(complaint: Complaint) -> Failure:
    """The 422 for what no type can say: fields that exclude or need each other."""
    detail = _detail(_VALUE, complaint.path, f"Value error, {complaint.message}", complaint.got)
    return refusal({**detail, "ctx": {"error": {}}})


def detail_of(said: str, param: str | None) -> Detail:
    """A detail in free words."""
    steps = (param or "").replace("[", ".").replace("]", "").split(".") if param else ()
    return {"loc": ["body", *(int(step) if step.isdecimal() else step for step in steps)], "msg": said, "type": _VALUE}


def validated(adapter: TypeAdapter[Body], body: Mapping[str, Json]) -> Body:
    """The body as its request model reads it, or the 422 that tells all that is wrong with it."""
    try:
        return adapter.validate_python(_few_keys(body, adapter))
    except ValidationError as error:
        raise refusal(*map(_told, error.errors(include_url=False)[:_MOST])) from None


def read(http: HttpRequest) -> dict[str, Json]:
    """The JSON object of a body, or the 422 that FastAPI has for what is none."""
    try:
        return read_object(http)
    except Failure as failure:
        raise _unread(http, failure) from None


def _unread(http: HttpRequest, failure: Failure) -> Failure:
    if failure.reason == "unsupported_media_type":
        return refusal(_detail(_NO_OBJECT, (), _NO_OBJECT_SAID, http.body.decode("utf-8", "replace")))
    if not http.body.strip():
        return refusal(_detail("missing", (), "Field required", None))
    why = (failure.message or "").partition(": ")[2].rstrip(".")
    if why.startswith("expected an object"):
        return refusal(_detail(_NO_OBJECT, (), _NO_OBJECT_SAID, from_json(http.body)))
    detail = _detail("json_invalid", (_offset(why, http.body),), "JSON decode error", {})
    return refusal({**detail, "ctx": {"error": _json_words(why)}})


def _offset(why: str, body: bytes) -> int:
    """Where the body is broken, in characters; 0 where the words do not say."""
    found = re.search(r"line (\d+) column (\d+)$", why)
    if found is None:
        return 0
    lines = body.split(b"\n", int(found[1]) - 1)
    before = len(body) - len(lines[-1]) + max(int(found[2]) - 1, 0)
    if why.startswith("EOF"):
        before = len(body)
    return len(body[:before].decode("utf-8", "replace"))


def _json_words(why: str) -> str:
    """The words of Python's own JSON reader for what ours found."""
    return next((words for start, words in _JSON_WORDS.items() if why.startswith(start)), clip(why, 200))


def _told(error: ErrorDetails) -> Detail:
    kind, message = error["type"], error["msg"]
    if kind == "dict_type" and error["loc"][-1] not in _MAPPINGS:
        kind, message = _NO_OBJECT, _NO_OBJECT_SAID
    detail = _detail(kind, tuple(map(_step, error["loc"])), message, error["input"])
    if "ctx" not in error:
        return detail
    return {
        **detail,
        "ctx": {key: {} if isinstance(value, Exception) else value for key, value in error["ctx"].items()},
    }


def _step(step: str | int) -> str | int:
    """A step of a location as FastAPI names it; the labels of OpenAI's models are in plain words."""
    return _LABELS.get(step, step.strip("<>")) if isinstance(step, str) else step


def _detail(kind: str, path: Sequence[str | int], message: str, value: Json) -> dict[str, Json]:
    steps = (clip(step) if isinstance(step, str) else step for step in path)
    return {"loc": ["body", *steps], "msg": message, "type": kind, "input": shortened(value)}


def shortened(value: Json) -> Json:
    """A value of the client as a message quotes it: texts and lists only so long."""
    match value:
        case str():
            return clip(value, _LONGEST)
        case list():
            return [shortened(item) for item in value[:_MOST]]
        case dict():
            return {clip(str(key)): shortened(item) for key, item in list(value.items())[:_MOST]}
        case int() if abs(value) >> 64:
            return clip(str(value))
    return value


def _few_keys(body: Mapping[str, Json], adapter: TypeAdapter[Body]) -> Mapping[str, Json]:
    """The body, of whose endlessly many keys only the first are looked at."""
    return body if len(body) <= _MOST * 2 else dict(list(body.items())[: _MOST * 2])


_VALUE = "value_error"
_NO_OBJECT = "model_attributes_type"
_NO_OBJECT_SAID = "Input should be a valid dictionary or object to extract fields from"
_MAPPINGS = ("metadata", "logit_bias", "dict[str,any]")
_LONGEST = 200
_MOST = 100
_LABELS: Mapping[str, str] = {
    "<a string>": "str",
    "<an array>": "list",
    "<an array of strings>": "list[str]",
    "<an array of objects>": "list[dict[str,any]]",
    "<an object>": "dict[str,any]",
}
_JSON_WORDS: Mapping[str, str] = {
    "EOF while parsing a string": "Unterminated string starting at",
    "EOF": "Expecting value",
    "expected `:`": "Expecting ':' delimiter",
    "expected `,`": "Expecting ',' delimiter",
    "expected": "Expecting value",
    "key must be a string": "Expecting property name enclosed in double quotes",
    "trailing comma": "Expecting property name enclosed in double quotes",
    "trailing characters": "Extra data",
    "control character": "Invalid control character at",
    "invalid escape": "Invalid \\escape",
}
