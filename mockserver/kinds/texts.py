"""Texts and lists of texts as settings take them: names, hosts, origins, a token."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from mockserver.core.addresses import host_of, is_address, origin
from mockserver.core.json_text import Json


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a list; one text holds several with commas between. Raises what pydantic reports."""
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("wants", "a list of texts")
    wrong = [at for at, text in enumerate(value) if not isinstance(text, str)]
    if wrong:
        mistakes = [InitErrorDetails(type="string_type", loc=(at,), input=value[at]) for at in wrong]
        raise ValidationError.from_exception_data("texts", mistakes)
    return tuple(value)


def _hosts(names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Names and addresses without ports; `*` and `*.example.com` may stand among them."""
    found = tuple(name.lower().strip("[]") for name in names or ())
    for name in found:
        bare = name.removeprefix("*.")
        if name != "*" and host_of(bare) != bare and not is_address(bare):
            raise PydanticCustomError("wants", "a list of host names without ports, such as mock.test or *.mock.test")
    return found


def _origins(listed: tuple[str, ...] | None) -> tuple[str, ...]:
    """Origins as browsers send them; `*` stands for all."""
    found = tuple("*" if text == "*" else origin(text.removesuffix("/")) for text in listed or ())
    if None in found:
        raise PydanticCustomError("wants", "a list of origins, such as https://app.example, or *")
    return tuple(text for text in found if text)


def _token(text: str | None) -> str | None:
    """A token as a header can carry it. What is wrong is told without the token."""
    if text is not None and not (text and text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("must be printable ASCII without spaces")
    return text


def _several(value: Json) -> Json:
    """A list as a tuple; a text alone is one of one."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else value


TEXTS = {"type": "array", "items": {"type": "string"}}  # the JSON Schema of a list

Hosts = Annotated[tuple[str, ...], BeforeValidator(texts), AfterValidator(_hosts), WithJsonSchema(TEXTS)]
Origins = Annotated[tuple[str, ...], BeforeValidator(texts), AfterValidator(_origins), WithJsonSchema(TEXTS)]
Several = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, TEXTS]}),
]
Token = Annotated[str | None, AfterValidator(_token), WithJsonSchema({"type": "string"})]
