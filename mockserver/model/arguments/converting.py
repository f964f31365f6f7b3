"""A mention as a value of the type that a property asks for."""

from collections.abc import Iterator, Mapping

from mockserver.core.json import Json
from mockserver.model.arguments.dates import iso_duration
from mockserver.model.arguments.properties import Property
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import heading_of, truth

_SECONDS: dict[str, float] = {"ms": 0.001, "millisecond": 0.001, "millis": 0.001, "second": 1, "sec": 1, "s": 1}
_SECONDS |= {
    "minute": 60,
    "min": 60,
    "mins": 60,
    "hour": 3_600,
    "hr": 3_600,
    "h": 3_600,
    "day": 86_400,
    "week": 604_800,
}


def values(text: str, mention: Mention, prop: Property) -> Iterator[Json]:
    """The values that a mention can stand for, the likeliest first."""
    if not prop.types:
        yield mention.value if isinstance(mention.value, dict | list) else next(_as_string(text, mention, prop))
    for kind in prop.types:
        if kind == "string":
            yield from _as_string(text, mention, prop)
        elif kind in ("integer", "number"):
            yield from _as_number(text, mention, prop, whole=kind == "integer")
        elif kind == "boolean":
            yield from _as_boolean(mention)
        elif (kind == "object" and isinstance(mention.value, Mapping)) or (
            kind == "array" and isinstance(mention.value, list)
        ):
            yield mention.value


def _as_string(text: str, mention: Mention, prop: Property) -> Iterator[str]:
    match mention.kind:
        case "date" | "datetime" | "time":
            yield from _as_moment(mention, prop)
        case "duration" if prop.format == "duration":
            yield iso_duration(mention.value)
        case "money" if prop.semantic_type == "currency":
            yield mention.unit
        case "name" | "words" if prop.semantic_type == "currency":
            yield heading_of("currencies").get(str(mention.value).lower()) or str(mention.value)
        case _ if (
            isinstance(mention.value, str) and mention.kind in ("pair", "member", "argument", "quoted") and prop.format
        ):
            yield from _inner(mention.value, prop)
            yield mention.value
        case _ if isinstance(mention.value, str):
            yield mention.value
        case _ if not isinstance(mention.value, dict | list | bool):
            written = text[mention.start : mention.end].strip()
            yield written.lstrip("#№ ") if mention.unit == "#" else written


def _as_moment(mention: Mention, prop: Property) -> Iterator[str]:
    day, _, rest = mention.value.partition("T") if mention.kind != "time" else ("", "", mention.value)
    if prop.semantic_type == "date" and day:
        yield day
    elif prop.semantic_type == "datetime" and mention.kind == "date" and prop.format:
        yield f"{day}T00:00:00Z"
    elif prop.semantic_type == "time" and mention.kind in ("time", "datetime"):
        yield from _as_time(rest.rstrip("Z"), prop)
    else:
        yield mention.value


def _as_time(written: str, prop: Property) -> Iterator[str]:
    if prop.format:
        full = written if written.count(":") > 1 else f"{written}:00"
        yield from (f"{full}Z", full)
    yield written.removesuffix(":00") if written.count(":") > 1 else written


def _as_number(text: str, mention: Mention, prop: Property, *, whole: bool) -> Iterator[int | float]:
    number = mention.value
    if mention.kind == "duration":
        number = _in_unit(mention, prop)
    elif isinstance(number, str) and mention.kind in ("pair", "member", "argument", "quoted"):
        yield from _inner(number, prop)
        return
    elif isinstance(number, bool) or not isinstance(number, int | float):
        return
    if whole and isinstance(number, float) and number == int(number):
        number = int(number)
    if mention.unit == "%" and "percent" not in "".join(prop.words) and prop.schema.get("maximum") == 1:
        yield round(number / 100, 9)
    if not (whole and isinstance(number, float)):
        yield number


def _in_unit(mention: Mention, prop: Property) -> float:
    """A duration in the unit that the property's name or description tells, else in the one that was said."""
    described = str(prop.schema.get("description") or "").lower()
    unit = next((word for word in reversed(prop.words) if word in _SECONDS), None)
    unit = unit or next(
        (word for word in ("millisecond", "second", "minute", "hour", "day") if word in described), None
    )
    said = mention.unit.lower()
    seconds = _SECONDS.get(unit or said) or _SECONDS.get(said[:-1]) or 1
    amount = mention.value / seconds
    return int(amount) if amount == int(amount) else float(round(amount, 6))


def _as_boolean(mention: Mention) -> Iterator[bool]:
    value = truth(mention.value) if isinstance(mention.value, str) else mention.value
    if isinstance(value, bool):
        yield value


def _inner(written: str, prop: Property) -> Iterator[Json]:
    """The values that stand within a text which was given for a property."""
    from mockserver.model.arguments.reading import read  # it reads with the modules that this one serves

    for mention in read(written[:500]):
        if mention.kind not in ("pair", "quoted", "argument", "member", "name", "words"):
            yield from values(written, mention, prop)
