"""In which order the alternatives of a schema, and the types that it leaves, are tried. Makes nothing itself."""

from collections.abc import Mapping, Sequence

from mockserver.core.call import Json
from mockserver.engine.generate.instances.choices import Option
from mockserver.engine.generate.instances.height import Heights
from mockserver.engine.generate.instances.making import Making, Place
from mockserver.engine.generate.instances.parts import Parts, hinted, kinds
from mockserver.engine.generate.instances.saying import evidence
from mockserver.engine.generate.prompt import NOTHING


def ordered(making: Making, heights: Heights, place: Place, options: Sequence[Option]) -> Sequence[Option]:
    """Alternatives by chance, null last: before them what the prompt speaks of; deep down what ends soonest."""
    if not making.generous(place):
        return sorted(options, key=lambda option: max(map(heights.of, option), default=0))
    telling = [option for option in options if not _is_null(option)]
    turned = [*_turned(making, place, telling), *(option for option in options if _is_null(option))]
    if making.said is NOTHING or place.tries:
        return turned
    return sorted(turned, key=lambda option: -evidence(making, option[:1]))


def after_trouble(place: Place, options: Sequence[Option]) -> Sequence[Option]:
    """Alternatives as they stand, later ones first where the earlier have been refused."""
    turn = place.tries % max(1, len(options))
    return [*options[turn:], *options[:turn]]


def kinds_in_order(making: Making, parts: Parts, place: Place) -> Sequence[str]:
    """The types to try, the most telling first; null only at the end, or where an end must be found."""
    allowed = kinds(parts)
    if any("type" in part for part in parts):
        found = sorted(allowed, key=lambda kind: (kind == "null") == making.generous(place))
    else:
        found = [kind for kind in hinted(parts) if kind in allowed]
    turn = place.tries // 2 % len(found) if found else 0  # each type has a second try
    return [*found[turn:], *found[:turn]]


def _turned(making: Making, place: Place, options: Sequence[Option]) -> Sequence[Option]:
    if len(options) < _FEWEST:
        return options
    turn = (int(making.fraction(place, "alternative") * len(options)) + place.tries) % len(options)
    return [*options[turn:], *options[:turn]]


def _is_null(option: Option) -> bool:
    schema: Json = option[0] if option else True
    if not isinstance(schema, Mapping):
        return False
    return schema.get("type") in ("null", ["null"]) or ("const" in schema and schema["const"] is None)


_FEWEST = 2
