"""The settings `upstream`, `match` and `scrub`: where to record from, which requests are equal, what to remove."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from mockserver.config.tables import AfterValidator, BaseTable, BeforeValidator, WithJsonSchema, field
from mockserver.config.types import Several, parse_json_path, split_texts
from mockserver.core.json import Json


class MatchSettings(BaseTable, title="match"):
    """Which parts of a request to ignore, or to compare as well, when looking for a recording."""

    example: ClassVar[str] = "{ignore: [temperature]}"

    ignore: Several = field((), description="Body fields to ignore, such as temperature or seed.")
    also: Several = field(
        (), description="What to compare as well: header.x-tenant, query.api-version, or a body field such as user."
    )


def _check_json_path(text: str) -> str:
    try:
        parse_json_path(text)
    except ValueError as error:
        raise PydanticCustomError("refused", "is not a valid JSONPath: {why}", {"why": str(error)}) from None
    return text


def _check_pattern(text: str) -> str:
    import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

    try:
        regex.compile(text)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise PydanticCustomError("refused", "is not a valid regular expression: {why}", {"why": str(error)}) from None
    return text


SCRUBBED = "<scrubbed>"


class Scrub(BaseTable, title="scrub", validate_by_name=True, validate_by_alias=True):
    """Something to remove from recordings, and from live requests before a recording is looked up."""

    path: Annotated[str, AfterValidator(_check_json_path)] | None = field(
        None, description="The JSONPath of a value in a JSON body, such as $.user."
    )
    regex: Annotated[str, field(min_length=1), AfterValidator(_check_pattern)] | None = field(
        None, description="Or a regular expression that matches it anywhere."
    )
    placeholder: str = field(SCRUBBED, alias="with", min_length=1, description="The replacement.")

    def _check(self) -> Self:
        if (self.path is None) == (self.regex is None):
            raise PydanticCustomError("refused", "give either path or regex")
        return self


def _read_scrubs(value: Json) -> Json:
    if isinstance(value, Mapping):
        return (value,)
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("expected", "a list of tables, such as {path: $.user}")
    return tuple(value)


def _read_upstreams(value: Json) -> Json:
    if isinstance(value, Mapping):
        return value
    pairs = [text.partition("=") for each in split_texts(value) for text in split_texts(each)]
    if any(not (name and equals and url) for name, equals, url in pairs):
        raise PydanticCustomError("expected", "dialect=URL, such as openai=https://api.openai.com/v1")
    return {name: url for name, _, url in pairs}


def _check_addresses(upstreams: Mapping[str, str]) -> Mapping[str, str]:
    for url in upstreams.values():
        parts = urlsplit(url)
        if "@" in url:  # not quoted: what is before it may be a password
            raise PydanticCustomError(
                "refused", f"put no user or password into the URL; the key for openai goes into {UPSTREAM_KEY}OPENAI"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise PydanticCustomError(
                "expected", "http(s) addresses without a query, such as https://api.openai.com/v1"
            )
    return {name: url.rstrip("/") for name, url in upstreams.items()}


UPSTREAM_KEY = "MOCKSERVER_UPSTREAM_KEY_"  # plus a dialect: the variable of the key to send upstream

_URLS = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^@?#]+$"}}
Upstreams = Annotated[
    Mapping[str, str],
    BeforeValidator(_read_upstreams),
    AfterValidator(_check_addresses),
    WithJsonSchema(lambda: {"anyOf": [_URLS, {"type": ["array", "string"], "items": {"type": "string"}}]}),
]
Scrubs = Annotated[tuple[Scrub, ...], BeforeValidator(_read_scrubs)]
