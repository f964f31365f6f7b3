"""Which models there are: those that the settings list, or every one.

Knows names and patterns, no properties of models.
"""

from collections.abc import Iterator

from mockserver.core.plan import Failure
from mockserver.engine.when.predicates import is_pattern
from mockserver.engine.window import fits

Names = tuple[str, ...]


def admit(model: str, listed: Names | None) -> None:
    """Refuse a model that is not listed. Raises Failure (`unknown_model`)."""
    if listed is not None and model and not any(fits(pattern, model) for pattern in listed):
        raise Failure("unknown_model", details={"model": model})


def models(asked: str, listed: Names | None, own: Names) -> Names:
    """The model that was asked for, or all that are listed, a pattern standing for those of a dialect's `own`."""
    if asked:
        return (asked,)
    return own if listed is None else tuple(dict.fromkeys(_expanded(listed, own)))


def _expanded(listed: Names, own: Names) -> Iterator[str]:
    for pattern in listed:
        if is_pattern(pattern):
            yield from (name for name in own if fits(pattern, name))
        else:
            yield pattern
