"""Which models there are and what is known of each: by the settings first, then by what is published.

A model is found by its name, by an alias, or by the name that its answers carry.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.engine.models import UNKNOWN, Model, fits
from mockserver.engine.published import published
from mockserver.engine.when.predicates import is_pattern

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A model as it was found by a name.

    `stated` is what the settings say of it, `properties` that and what is published; `refusing` says which of them a
    request is held against: what is published counts where every provider refuses, the rest of it only if `strict`.
    """

    exists: bool
    name: str  # what its answers call it
    stated: Model
    properties: Model
    refusing: Model


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models of the settings, by name or pattern; None: every model exists. `published`: well-known ones count."""

    entries: Mapping[str, Model] | None = None
    published: bool = True
    strict: bool = False
    _names: Mapping[str, str] = field(init=False, repr=False, compare=False)
    _remembered: Callable[[str], Known] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", _other_names(self.entries or {}))
        object.__setattr__(self, "_remembered", lru_cache(maxsize=1024)(self._found))

    def find(self, name: str) -> Known:
        """What is known of the model of that name, be it an alias."""
        return self._remembered(name) if len(name) <= _LONGEST else self._found(name)

    def properties(self, name: str) -> Model:
        """All that is known of the model of that name."""
        return self.find(name).properties

    def admit(self, name: str) -> None:
        """Refuse a model that does not exist. Raises Failure (`unknown_model`)."""
        if name and not self.find(name).exists:
            raise Failure("unknown_model", details={"model": name})

    def resolved(self, call: Call) -> Call:
        """The call under the name that its answer carries."""
        name = self.find(call.model).name
        return call if name == call.model else replace(call, model=name)

    def names(self, asked: str, own: Names) -> Names:
        """The model that was asked for, or all there are, a pattern standing for those of a dialect's `own`."""
        if asked:
            return (asked,)
        return own if self.entries is None else tuple(dict.fromkeys(self._listed(own)))

    def _listed(self, own: Names) -> Iterator[str]:
        for name, model in (self.entries or {}).items():
            if is_pattern(name):
                yield from (each for each in own if fits(name, each))
            else:
                yield name
            yield from (*model.aliases, *((model.resolved,) if model.resolved else ()))

    def _found(self, asked: str) -> Known:
        name = self._names.get(asked, asked)
        entries = [model for pattern, model in (self.entries or {}).items() if fits(pattern, name)]
        stated = reduce(Model.over, entries, UNKNOWN)
        resolved = stated.resolved or name
        usual = (published(resolved) or published(name)) if self.published else None
        properties = stated.over(usual or UNKNOWN)
        return Known(
            exists=self.entries is None or bool(entries),
            name=resolved,
            stated=stated,
            properties=properties,
            refusing=properties if self.strict else _lenient(properties, stated),
        )


def _lenient(model: Model, stated: Model) -> Model:
    """The model without what a request is held against only where the settings say it, not where it is published."""
    return replace(
        model, max_output_tokens=stated.max_output_tokens, reasoning=stated.reasoning, sampling=stated.sampling
    )


def _other_names(entries: Mapping[str, Model]) -> Mapping[str, str]:
    """The entry behind each alias, and behind each name that answers carry, unless that has an entry of its own."""
    names = {alias: name for name, model in entries.items() for alias in model.aliases}
    for name, model in entries.items():
        if model.resolved and not is_pattern(name):
            names.setdefault(model.resolved, name)
    return {other: name for other, name in names.items() if other not in entries}


_LONGEST = 200  # characters of a name that is remembered
