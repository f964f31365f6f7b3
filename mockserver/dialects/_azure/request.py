"""Azure's request: api-version, extra parameters, the body, and which complaint is a 400 and which a 422."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Json
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._azure.models import AZURE_CHAT, AZURE_FIELDS, EFFECTIVE, PASSED
from mockserver.dialects._chat.call import chat_call
from mockserver.dialects._chat.request import impossible_choice
from mockserver.dialects._documents.embeddings import embeddings_call
from mockserver.dialects._documents.embeddings_models import AZURE_EMBEDDING, AZURE_EMBEDDING_FIELDS
from mockserver.dialects._shared.parse import Complaint, clip, read_object, unknown_keys, validated
from mockserver.dialects._shared.words import refuse

Body = Mapping[str, Json]
_IDS = IdShape("", 32, "hex")
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?")


def check_version(http: HttpRequest) -> None:
    """Refuse a request without a well-formed `api-version` in its query."""
    version = http.query.get("api-version")
    if not version:
        message = "The api-version query parameter (?api-version=) is required for all requests."
        raise Failure("bad_parameter", message, code="MissingApiVersionParameter", param="api-version")
    if not _VERSION.fullmatch(version):
        message = (
            f"The api-version '{clip(version)}' is invalid. The format is YYYY-MM-DD, optionally followed by -preview."
        )
        raise Failure("bad_parameter", message, code="InvalidApiVersionParameter", param="api-version")


def parse_chat(http: HttpRequest, *, dialect: str) -> Call:
    """The Call of a chat request; extra parameters as the `extra-parameters` header wants them."""
    check_version(http)
    body = known_or_passed(http, AZURE_FIELDS)
    own = validated(AZURE_CHAT, body, refuse_as_azure)
    passed = validated(PASSED, {key: body[key] for key in EFFECTIVE.intersection(body)}, refuse_as_azure)
    chat: Body = {**own, **passed}
    for found in (*impossible_choice(chat), *_contents(chat["messages"])):
        raise refuse_as_azure(found)
    return replace(chat_call(http, body, chat, dialect=dialect), ids=_IDS)


def parse_embeddings(http: HttpRequest, *, dialect: str) -> Call:
    """The Call of a request for embeddings; extra parameters as in a chat."""
    check_version(http)
    body = known_or_passed(http, AZURE_EMBEDDING_FIELDS)
    asked = validated(AZURE_EMBEDDING, body, refuse_as_azure)
    return embeddings_call(http, body, asked, dialect=dialect, refuse=refuse_as_azure)


def refuse_as_azure(complaint: Complaint) -> Failure:
    """A 422 where the body is one that the API knows but the model does not support, else a 400."""
    words = refuse(complaint)
    if not _is_unsupported(complaint):
        return Failure("bad_parameter", words.message, param=words.param)
    loc = ("body", *(clip(str(step)) for step in complaint.path))
    value = "" if complaint.kind == "missing" else as_text(complaint.got)
    message = f"One of the parameters has an unsupported value. {words.message}"
    return Failure("unprocessable", message, param=words.param, details={"loc": loc, "value": value})


def as_text(value: Json) -> str:
    """A value as `detail.value` tells it, which is always a string: JSON where it is none."""
    return clip(value if isinstance(value, str) else to_json(value).decode(), 1000)


def _is_unsupported(complaint: Complaint) -> bool:
    """A role or part that the model does not understand, or a parameter that it does not support."""
    field = complaint.path[0]
    return complaint.kind == "value" if field == "messages" else field in _OF_THE_MODEL


def known_or_passed(http: HttpRequest, known: frozenset[str]) -> Body:
    """The body with what the `extra-parameters` header makes of parameters that the API does not know."""
    body, wish = read_object(http), http.header("extra-parameters")
    extras = unknown_keys(body, known)
    match (wish or "error").strip().lower():
        case "pass-through":
            return body
        case "drop" | "ignore":
            return {key: value for key, value in body.items() if key in known}
        case "error":
            if extras:
                raise _refused_extras(extras)
            return body
    message = (
        f"The extra-parameters header is '{clip(wish or '')}'; it may be 'error', 'pass-through', 'drop' or 'ignore'."
    )
    raise Failure("bad_parameter", message, param="extra-parameters")


def _refused_extras(extras: Iterable[str]) -> Failure:
    shown = clip(str([clip(extra) for extra in extras]), 300)
    message = (
        f"Extra parameters {shown} are not allowed when extra-parameters is not set or set to be 'error'. "
        "Set extra-parameters to 'pass-through' to pass to the model."
    )
    return Failure("bad_parameter", message, param=clip(next(iter(extras))))


def _contents(messages: Iterable[Body]) -> Iterator[Complaint]:
    """What messages and parts of a role or type must carry."""
    for at, message in enumerate(messages):
        content = message.get("content")
        if content is None and message["role"] != "assistant":
            yield _absent(message, ("messages", at, "content"))
        for index, part in enumerate(content if isinstance(content, list) else ()):
            own = "text" if part["type"] == "text" else "image_url"
            if part["type"] != "input_audio" and own not in part and "content" not in part:
                yield Complaint("missing", ("messages", at, "content", index, own))


def _absent(message: Body, path: tuple[str | int, ...]) -> Complaint:
    if "content" not in message:
        return Complaint("missing", path)
    return Complaint("type", path, got=None, expected=("a string", "an array of objects"))


_OF_THE_MODEL = EFFECTIVE | {
    "frequency_penalty",
    "presence_penalty",
    "max_tokens",
    "response_format",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "dimensions",
    "encoding_format",
    "input_type",
}
