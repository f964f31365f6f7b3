"""Shared steps of reading a request: bytes to a JSON object, the credential, and complaints of a request model."""

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isinf
from typing import Generic, NamedTuple, TypeVar

from jiter import from_json
from msgspec import Struct
from msgspec.json import encode
from pydantic_core import ErrorDetails, ValidationError

from mockserver.core.call import Call, Message, PlainMessages
from mockserver.core.http import HttpRequest, read_media_type
from mockserver.core.json import Json, find_in
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel, Reading, TypedModel
from mockserver.kinds.objects import Work

LONG_BODY = 65_536  # bytes; jiter reads longer ones faster, and no garbage is collected meanwhile


def parse_json(body: bytes) -> Json:
    """Return the value. Raises ValueError for invalid JSON, duplicate keys, NaN or Infinity."""
    if len(body) <= LONG_BODY or not gc.isenabled():
        return from_json(body, allow_inf_nan=False, catch_duplicate_keys=True)
    gc.disable()
    try:
        return from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="none")
    finally:
        gc.enable()


MAX_DEPTH = 100
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep."
Path = tuple[str | int, ...]
Body = Mapping[str, Json]


class Complaint(Struct, frozen=True):
    """What is wrong with one field of a body.

    `kind` is missing, type, value, below, above, short, long, pattern, unknown, moved, conflict, parameters, schema,
    image or lacks (the model lacks what is asked for). `got` is the value at the path, or, if the field is missing, the
    object around it. `expected` has names of types ("a string") or the allowed values, `bound` the exceeded limit.
    `message` is for mistakes that these cannot express, `param` for a place that OpenAI names otherwise. `loc` is the
    path with the tags of unions (`messages`, 0, `user`, `content`), where a request model has found it.
    """

    kind: str
    path: Path
    got: Json = None
    expected: tuple[str, ...] = ()
    bound: float | int | str | None = None
    message: str | None = None
    loc: Path = ()
    param: str | None = None

    @property
    def where(self) -> str:
        """The path as providers write it: `messages[0].role`."""
        return write_path(self.path)


def write_path(path: Path) -> str:
    """Return a path as providers write it: `messages[0].role`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{clip(step)}" for step in path).lstrip(".")


_NOTHING: Body = {}
Refuse = Callable[[Complaint], Failure]
Parse = Callable[[HttpRequest, Validation], Call]


def complain(message: str, *path: str | int) -> Complaint:
    """Return a complaint in these words, about the value that these keys and indices lead to."""
    return Complaint("conflict", path, message=message)


def read_object(http: HttpRequest) -> dict[str, Json]:
    """Return the JSON object of a body, with whole numbers at its top as ints. Raises Failure if it is invalid."""
    if http.header_values.get(b"content-type") != b"application/json":
        refuse_other_media(http)
    return read_table(http.body)


def read_table(body: bytes) -> dict[str, Json]:
    """Return the JSON object in these bytes, whatever their content type."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise _make_json_failure(f"expected an object, but got {name_json_type(value)} instead.")
    return make_integers(value)


def make_integers(body: dict[str, Json]) -> dict[str, Json]:
    """Change the top-level fields of an object with whole numbers to ints, and return it."""
    if float in map(type, body.values()):
        for key, value in body.items():
            if type(value) is float and value.is_integer():
                body[key] = int(value)
    return body


def read_json(body: bytes) -> Json:
    """Return the value of a JSON body. Raises Failure with the place where it is invalid."""
    try:
        value = parse_json(body)
    except ValueError as error:
        raise _make_json_failure(_explain_json_error(str(error), body)) from None
    if _holds_endless([value], MAX_DEPTH):
        _refuse_endless_numbers(body)
    return value


def read_bearer(http: HttpRequest) -> str | None:
    """Return the token of an `Authorization` header with the scheme Bearer (RFC 6750, 2.1); None without one."""
    stated = http.header_values.get(b"authorization")
    if stated is None or stated[:7].lower() != b"bearer ":
        return None
    return stated[7:].strip().decode("latin-1") or None


def read_body(
    model: BodyModel,
    body: Body,
    *,
    refuse: Refuse,
    validation: Validation = Validation.PUBLISHED,
    is_closed: bool = False,
) -> Reading:
    """Return the body as its request model reads it. Raises the Failure that `refuse` makes of the first complaint.

    `is_closed`: the live service takes no fields but those of the model, whatever is published.
    """
    try:
        reading = model.read(body, validation)
    except ValidationError as error:
        raise refuse(_choose_complaint(error.errors(include_url=False), body, 0)) from None
    if is_closed and validation is Validation.LIVE:
        refuse_first(find_unknown_fields(body, model.fields), refuse)
    return reading


def read_request(
    model: BodyModel,
    http: HttpRequest,
    *,
    refuse: Refuse,
    validation: Validation,
    url_fields: Body = _NOTHING,
    is_closed: bool = False,
) -> Reading:
    """Return the body of a request like `read_body`, with the fields of its path or query; usual ones are read fast."""
    usual = read_usual(model.typed, http) if validation is Validation.PUBLISHED else None
    if usual is None:
        body = {**read_object(http), **url_fields}
        return read_body(model, body, refuse=refuse, validation=validation, is_closed=is_closed)
    if url_fields:
        usual.update(url_fields)
    return Reading(usual, usual)


def read_usual(model: TypedModel, http: HttpRequest) -> dict[str, Json] | None:
    """Return the body of a request that is certainly valid; else None."""
    body = http.body
    # jiter reads long texts faster
    if len(body) > LONG_BODY or http.header_values.get(b"content-type") != b"application/json":
        return None
    table = model.read_table(body)
    if table is None or (len(body) > _LEAST_DEEP and is_deep(table)):
        return None
    return make_integers(table)


_LEAST_DEEP = 2 * MAX_DEPTH  # characters


Read = TypeVar("Read")


class UsualReading(NamedTuple, Generic[Read]):
    """What a function reads of bodies that have none of these fields."""

    value: Read
    fields: frozenset[str]


def find_usual(read: Callable[[Body], Read]) -> UsualReading[Read]:
    """Return what a function reads of an empty body, and the fields for which it looks."""
    noting = _NotingBody()
    value = read(noting)
    return UsualReading(value, frozenset(noting.wanted))


class _NotingBody(dict[str, Json]):
    """An empty body that notes the fields that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[str] = []

    def get(self, key: str, default: Json = None) -> Json:
        self.wanted.append(key)
        return default


def list_complaints(model: BodyModel, body: Json) -> Iterator[Complaint]:
    """Yield the first complaint of a model about a body, if there is one."""
    try:
        model.validate(body)
    except ValidationError as error:
        yield _choose_complaint(error.errors(include_url=False), body, 0)


def list_unknown_fields(model: BodyModel, body: Json) -> Iterator[Complaint]:
    """Yield a complaint about each field that a model forbids, at any depth; other mistakes are left out."""
    try:
        model.validate(body)
    except ValidationError as error:
        found = error.errors(include_url=False)
        yield from (_make_complaint(each, body) for each in found if each["type"] == "extra_forbidden")


def refuse_first(complaints: Iterable[Complaint], refuse: Refuse) -> None:
    """Raise the Failure that `refuse` makes of the first complaint, if there is one."""
    for complaint in complaints:
        raise refuse(complaint)


def _choose_complaint(errors: Sequence[ErrorDetails], body: Json, start: int) -> Complaint:
    """Return the first complaint, or, if steps from `start` on have labels, that of the member that was meant."""
    first = errors[0]
    labelled = next((i for i, step in enumerate(first["loc"]) if i >= start and is_label(step)), None)
    if labelled is None:
        return _make_complaint(first, body)
    union = first["loc"][:labelled]
    members = [error for error in errors if error["loc"][:labelled] == union]
    inside = [error for error in members if len(members) == 1 or not _is_other_type(error, labelled)]
    if inside:
        meant = max(inside, key=lambda error: _rank_member(error, labelled))["loc"][labelled]
        return _choose_complaint([error for error in inside if error["loc"][labelled] == meant], body, labelled + 1)
    expected = tuple(str(error["loc"][labelled]).strip("<>") for error in members)
    loc = _strip_labels(union)
    return Complaint("type", _find_path(union, first, body), got=first["input"], expected=expected, loc=loc)


def parse_models(dialect: str, http: HttpRequest, validation: Validation) -> Call:
    """Return the Call for all models, or for the one that the path names."""
    model = http.path_params.get("model", "")
    return Call(dialect, "model" if model else "models", model=model, http=http, meaning={"model": model})


def read_plain_messages(messages: Iterable[Body]) -> PlainMessages | None:
    """Return the messages of a chat if there are some, and each is only a role and a text; else None."""
    found = []
    for message in messages:
        role = message.get("role")
        content = message.get("content")
        if type(content) is not str or not content or len(message) != _ROLE_AND_CONTENT or role not in _SPEAKING:
            return None
        found.append(Message(role, content))
    return PlainMessages(found) or None


_ROLE_AND_CONTENT = 2  # fields
_SPEAKING = frozenset(("system", "developer", "user", "assistant"))  # roles whose messages need no more than a text


def look_up(dialect: str, operation: str, name: str = "id", *, prefix: str = "", work: Work | None = None) -> Parse:
    """Return the `parse` of an operation that looks up an answer, or an object if `work` does something with it.

    The id is the part of the path called `name`, after the `prefix`; a path without that part is one of a list.
    """

    def parse(http: HttpRequest, validation: Validation) -> Call:
        wanted = f"{prefix}{http.path_params[name]}" if name in http.path_params else ""
        return Call(dialect, operation, model="", http=http, meaning={"id": wanted}, id=wanted, work=work)

    return parse


def name_json_type(value: Json) -> str:
    """Return the JSON type of a value with its article, such as `an array`; `null` has none."""
    return _KINDS.get(type(value), "null")


def clip(text: str, limit: int = 100) -> str:
    """Return a text of the client as a message may quote it: bounded, and without halves of characters."""
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    list: "an array",
    dict: "an object",
}


def refuse_other_media(http: HttpRequest) -> None:
    """Raise Failure for a body that calls itself something else than JSON."""
    media = http.find_header("content-type")
    if media and not read_media_type(media).endswith("json"):
        hint = "(HINT: If you're using curl, you can pass -H 'Content-Type: application/json')"
        message = f"{OTHER_MEDIA} ({clip(media)}), expected application/json. {hint}"
        raise Failure("unsupported_media_type", message=message)


def _make_json_failure(why: str) -> Failure:
    return Failure("bad_json", message=f"{BAD_JSON}{why}")


# How OpenAI's words begin.
BAD_JSON = "We could not parse the JSON body of your request: "
OTHER_MEDIA = "Invalid Content-Type header"


def reword_unreadable(failure: Failure, bad_json: str, other_media: str) -> Failure:
    """Return the failure to read a body in a provider's words: `bad_json` and what is wrong, or `other_media`."""
    message = failure.message or ""
    if message.startswith(BAD_JSON):
        return failure.replace(message=bad_json + message.removeprefix(BAD_JSON))
    return failure.replace(message=other_media) if message.startswith(OTHER_MEDIA) else failure


def _explain_json_error(error: str, body: bytes) -> str:
    if not body.strip():
        return "the body is empty."
    if error.startswith("recursion limit"):
        return _TOO_DEEP
    if "hex escape" in error:
        error = error.replace("unexpected end of hex escape", "lone leading surrogate in hex escape")
    return f"{clip(error, 300)}."


def is_deep(body: Body) -> bool:
    """Return whether an object has more levels than are allowed."""
    if _NESTING.isdisjoint(map(type, body.values())):
        return False
    try:
        written = encode(body)
    except RecursionError:
        return True
    if written.count(b"{") + written.count(b"[") <= MAX_DEPTH:
        return False
    level: list[Json] = [body]
    depth = 0
    while level and depth <= MAX_DEPTH:
        inner = [value for each in level for value in (each.values() if type(each) is dict else each)]
        level = [value for value in inner if type(value) is dict or type(value) is list]
        depth = depth + 1
    return depth > MAX_DEPTH


_NESTING = frozenset((dict, list))


def _holds_endless(value: Json, levels: int) -> bool:
    """Return whether a list or table has a number that exceeds a double, and was read as infinite.

    Raises Failure if it has more than this many levels. Texts are skipped, so that long ones cost nothing.
    """
    found = False
    for inner in value.values() if type(value) is dict else value:
        kind = type(inner)
        if kind is str:
            continue
        if kind is dict or kind is list:
            if not levels:
                raise _make_json_failure(_TOO_DEEP)
            found = _holds_endless(inner, levels - 1) or found
        elif kind is float and isinf(inner):
            found = True
    return found


_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_STRING_OR_ENDLESS = re.compile(
    _STRING + rb"|(?<![\d.])-?(?:\d{200}[\d.eE+-]*|\d[\d.]{0,400}[eE][+-]?\d{3}[\d]*)", re.DOTALL
)


def _refuse_endless_numbers(body: bytes) -> None:
    for found in _STRING_OR_ENDLESS.finditer(body):
        text = found[0]
        if text[0] != ord('"') and float(text) in (float("inf"), float("-inf")):
            line = body.count(b"\n", 0, found.start()) + 1
            column = found.start() - body.rfind(b"\n", 0, found.start())
            raise _make_json_failure(f"number out of range at line {line} column {column}.")


def is_label(step: str | int) -> bool:
    """Return whether a step of a location is the label of a union's member, such as `<a string>`."""
    return isinstance(step, str) and step.startswith("<")


def _is_other_type(error: ErrorDetails, labelled: int) -> bool:
    if not all(is_label(step) for step in error["loc"][labelled + 1 :]):
        return False
    literal_of_other_type = error["type"] == "literal_error" and not isinstance(error["input"], str)
    return error["type"] in _TYPES or literal_of_other_type


def _rank_member(error: ErrorDetails, labelled: int) -> tuple[bool, int]:
    """Rank a member of a union: first those without a wrong type, then those that failed latest in an array."""
    step = next(iter(error["loc"][labelled + 1 :]), None)
    return error["type"] not in _TYPES, step if isinstance(step, int) else -1


def _find_path(loc: Sequence[str | int], error: ErrorDetails, body: Json) -> Path:
    """Return the keys of a location, without the labels and tags of unions: the path to the refused value.

    A tag can have the name of a key (`{"type": "function", "function": ...}`), so there are several ways to read it.
    """
    readings = list(_list_readings(loc, body))
    missing = int(error["type"] == "missing")  # then the refused value is the object around
    return next(
        (path for path in readings if find_in(body, *path[: len(path) - missing]) is error["input"]), readings[0]
    )


def _list_readings(loc: Sequence[str | int], at: Json) -> Iterator[Path]:
    if not loc:
        yield ()
        return
    step = loc[0]
    rest = loc[1:]
    if is_label(step) or step == "[key]" or (isinstance(at, dict) and step in (at.get("role"), at.get("type"))):
        yield from _list_readings(rest, at)
    if not is_label(step):
        inner = find_in(at, step)
        yield from ((step, *path) for path in _list_readings(rest, inner))


def _make_complaint(error: ErrorDetails, body: Json) -> Complaint:
    kind = error["type"]
    path = _find_path(error["loc"], error, body)
    loc = _strip_labels(error["loc"])
    got = error["input"]
    limits = error.get("ctx", {})
    if kind in _TYPES:
        return Complaint("type", path, got=got, expected=(_TYPES[kind],), loc=loc)
    if kind.startswith("union_tag"):
        return _complain_of_tag(path, got, limits, loc=loc)
    if kind == "literal_error":
        return _complain_of_value(path, got, _find_quoted(limits["expected"]), loc=loc)
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        return Complaint(word, path, got=got, bound=limits[key], loc=loc)
    if kind in _KEYS:
        return Complaint(_KEYS[kind], path, got=got, loc=loc)
    return Complaint("value", path, got=got, message=f"Invalid value: {error['msg']}", loc=loc)


def _strip_labels(loc: Sequence[str | int]) -> Path:
    return tuple(step for step in loc if not is_label(step))


def _complain_of_tag(path: Path, got: Json, limits: Mapping[str, Json], *, loc: Path) -> Complaint:
    key = limits["discriminator"].strip("'")
    inner = (*loc, key)
    if not isinstance(got, dict) or key not in got:
        return Complaint("missing", (*path, key), got=got, loc=inner)
    return _complain_of_value((*path, key), got[key], _find_quoted(limits.get("expected_tags", "")), loc=inner)


def _complain_of_value(path: Path, got: Json, allowed: tuple[str, ...], *, loc: Path) -> Complaint:
    if isinstance(got, str):
        return Complaint("value", path, got=got, expected=allowed, loc=loc)
    return Complaint("type", path, got=got, expected=("a string",), loc=loc)


def _find_quoted(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"'([^']*)'", text))


def split_param(param: str | None) -> Path:
    """Return the path in a provider's name of a place: `messages[0].role` is `("messages", 0, "role")`."""
    steps = param.replace("[", ".").replace("]", "").split(".") if param else ()
    return tuple(int(step) if step.isdecimal() else step for step in steps)


def join_words(words: Sequence[str], last: str) -> str:
    """Return words as a list in a sentence, with `last` (and, or) before the last one: `a, b, and c`."""
    if len(words) < 3:
        return f" {last} ".join(words)
    return f"{', '.join(words[:-1])}, {last} {words[-1]}"


def find_unknown_fields(body: Mapping[str, Json], known: frozenset[str]) -> Iterator[Complaint]:
    """Yield a complaint about each field that is not among the known ones."""
    return (Complaint("unknown", (key,), got=body[key]) for key in find_unknown_keys(body, known))


def find_unknown_keys(body: Mapping[str, Json], known: frozenset[str]) -> tuple[str, ...]:
    """Return the keys of a body that are not among the known ones."""
    return tuple(key for key in body if key not in known)


_KEYS: Mapping[str, str] = {"missing": "missing", "extra_forbidden": "unknown"}
_TYPES: Mapping[str, str] = {
    "string_type": "a string",
    "int_type": "an integer",
    "multiple_of": "an integer",
    "float_type": "a decimal",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("below", "ge"),
    "less_than_equal": ("above", "le"),
    "too_short": ("short", "min_length"),
    "too_long": ("long", "max_length"),
    "string_too_short": ("short", "min_length"),
    "string_too_long": ("long", "max_length"),
    "string_pattern_mismatch": ("pattern", "pattern"),
}
