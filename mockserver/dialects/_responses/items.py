"""The input of a Responses request: a text, or items of which only the role and content or the type is looked at.

Items come back from many versions of many clients, so that nothing else in them is refused, nor taken away.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag
from typing_extensions import TypedDict

from mockserver.dialects._chat.messages import String


class TextPart(TypedDict):
    """Text that was put in or that the model said."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: Literal["input_text", "output_text", "text", "summary_text", "reasoning_text"]
    text: str


class RefusalPart(TypedDict):
    """A refusal that the model gave."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: Literal["refusal"]
    refusal: str


class OtherPart(TypedDict):
    """An image, a file, sound, or what else there may be."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: str


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return _PART_TAGS.get(kind, "<a part>") if isinstance(kind, str) else "<a part>"


_TEXTUAL = TextPart.__annotations__["type"].__args__
_PART_TAGS = {**dict.fromkeys(_TEXTUAL, "<a text>"), "refusal": "<a refusal>"}
Part = Annotated[
    Annotated[TextPart, Tag("<a text>")]
    | Annotated[RefusalPart, Tag("<a refusal>")]
    | Annotated[OtherPart, Tag("<a part>")],
    Discriminator(_part_tag),
]
Parts = Annotated[list[Part], Field(fail_fast=True)]
Content = String | Annotated[Parts, Tag("<an array of objects>")]


class MessageItem(TypedDict):
    """A message, with or without its type."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class OtherItem(TypedDict):
    """Any other item: a call, an output, reasoning, a reference."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: str


class Reference(TypedDict):
    """An item that the provider keeps; it needs no type."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    id: str


def _item_tag(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in (None, "message"):
        return "<an item>"
    bare = kind is None and isinstance(item, dict) and "id" in item and "role" not in item and "content" not in item
    return "<a reference>" if bare else "<a message>"


Item = Annotated[
    Annotated[MessageItem, Tag("<a message>")]
    | Annotated[OtherItem, Tag("<an item>")]
    | Annotated[Reference, Tag("<a reference>")],
    Discriminator(_item_tag),
]
Items = Annotated[list[Item], Field(fail_fast=True)]
Input = String | Annotated[Items, Tag("<an array of objects>")]
