"""JSON values of a rule as text; every text inside is a template."""

import math
from collections.abc import Mapping

from pydantic_core import PydanticSerializationError, to_json

from mockserver.core.call import Json
from mockserver.engine.recipe import Recipe, fixed, together
from mockserver.engine.then.site import Site


def json_text(value: Json, site: Site) -> Recipe[str]:
    """The recipe for the JSON text of a value; what JSON cannot say is told to `site`."""
    json_bytes(value, site)
    return json_value(value, site).into(_dumped)


def json_value(value: Json, site: Site) -> Recipe[Json]:
    """The recipe for a value, its texts rendered; a text stays a text, whatever it comes to."""
    match value:
        case str():
            return site.text(value)
        case Mapping():
            names = tuple(map(str, value))
            inner = together(json_value(item, site.at(str(name))) for name, item in value.items())
            return inner.into(lambda made: dict(zip(names, made, strict=True)))
        case list() | tuple():
            return together(json_value(item, site.at(index)) for index, item in enumerate(value)).into(list)
        case float() if not math.isfinite(value):
            site.refuse("JSON has no number like this; write null or a text")
            return fixed(None)
    return fixed(value)


def json_bytes(value: Json, site: Site) -> bytes:
    """The JSON of a value as it stands, nothing in it being a template."""
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError) as error:
        site.refuse(f"this cannot be JSON: {str(error)[:80]}")
        return b"null"


def _dumped(value: Json) -> str:
    return to_json(value).decode()
