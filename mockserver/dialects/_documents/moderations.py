"""OpenAI's request for a moderation: the model of its body, then the Call."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.core.call import Call, IdShape, Json, Message, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._chat.messages import String, TextPart
from mockserver.dialects._shared.parse import Complaint, unknown_keys, validated

Body = Mapping[str, Json]
DEFAULT_MODEL = "omni-moderation-latest"
MOST_INPUTS = 2048


class Address(TypedDict):
    """Where an image is, or the image itself as a data URL."""

    url: str


class Image(TypedDict):
    """An image to judge."""

    type: Literal["image_url"]
    image_url: Address


def _shape(value: Any) -> str:
    return "<parts>" if isinstance(value, list) and value and isinstance(value[0], dict) else "<strings>"


_Few = Field(min_length=1, max_length=MOST_INPUTS, fail_fast=True)
Part = Annotated[TextPart | Image, Field(discriminator="type")]
Inputs = Annotated[
    Annotated[list[str], _Few, Tag("<strings>")] | Annotated[list[Part], _Few, Tag("<parts>")], Discriminator(_shape)
]


class ModerationBody(TypedDict, total=False):
    """`POST /moderations` (`wire/openai.md` section 8)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    input: Required[String | Annotated[Inputs, Tag("<an array>")]]
    model: str | None


MODERATION = TypeAdapter(ModerationBody)
MODERATION_FIELDS = frozenset(ModerationBody.__annotations__)


def parse_moderations(http: HttpRequest, body: Body, *, dialect: str, refuse: Callable[[Complaint], Failure]) -> Call:
    """The Call of a body: several texts are judged one by one, the parts of one input together."""
    asked = validated(MODERATION, body, refuse)
    messages = _messages(asked["input"])
    texts = [message.text for message in messages]
    meaning = {"input": asked["input"] if messages[0].parts else texts[0] if len(texts) == 1 else texts}
    return Call(
        dialect=dialect,
        operation="moderations",
        model=asked.get("model") or DEFAULT_MODEL,
        http=http,
        meaning={**body, "model": asked.get("model") or DEFAULT_MODEL, **meaning},
        raw=body,
        messages=messages,
        prompts=tuple(map(Prompt, texts)),
        ids=IdShape("modr-", 32, "hex"),
    )


def live_only(body: Body) -> tuple[Complaint, ...]:
    """What the live API refuses beyond its published schema."""
    return tuple(Complaint("unknown", (key,)) for key in unknown_keys(body, MODERATION_FIELDS))


def kinds_of_input(call: Call) -> tuple[str, ...]:
    """What was sent to be judged: text, image."""
    given = call.raw["input"]
    if isinstance(given, list) and isinstance(given[0], dict):
        kinds = {"image" if part["type"] == "image_url" else "text" for part in given}
        return tuple(kind for kind in ("text", "image") if kind in kinds)
    return ("text",)


def _messages(given: Json) -> tuple[Message, ...]:
    if isinstance(given, str):
        return (Message("user", given),)
    if isinstance(given[0], str):
        return tuple(Message("user", text) for text in given)
    text = "\n".join(part["text"] for part in given if part["type"] == "text")
    return (Message("user", text, parts=tuple(part for part in given if part["type"] != "text")),)
