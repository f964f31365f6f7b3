"""What is known of a model: how much it takes, what it can do, what it calls itself.

Knows neither where that is set nor what anybody does with it.
"""

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

from mockserver.core.rates import Rates
from mockserver.core.timing import Timing
from mockserver.engine.when.predicates import PLAIN, PREDICATES


@dataclass(frozen=True, slots=True)
class Model:
    """The properties of a model; None: nothing is known of it. `unlimited` names those that are said to be nothing."""

    context_window: int | None = None  # tokens of prompt and answer together
    max_output_tokens: int | None = None
    tokenizer: str | None = None
    tools: bool | None = None
    vision: bool | None = None
    json_schema: bool | None = None
    reasoning: bool | None = None  # whether an effort may be asked for
    sampling: bool | None = None  # whether temperature and its kin may be set
    resolved: str | None = None  # what its answers call it
    aliases: tuple[str, ...] = ()
    timing: Timing | None = None
    limits: Rates | None = None
    unlimited: frozenset[str] = field(default=frozenset())

    def over(self, other: "Model") -> "Model":
        """This model with what only the other one says."""
        missing = {
            name: getattr(other, name)
            for name in _SETTLED
            if getattr(self, name) is None and name not in self.unlimited
        }
        return replace(self, **missing, unlimited=self.unlimited | other.unlimited)


def fits(pattern: str, name: str) -> bool:
    """Whether a model has this name, `*` being a wildcard as everywhere in rules."""
    return bool(_built(pattern)(name))


UNKNOWN = Model()
_SETTLED = tuple(one.name for one in fields(Model) if one.name not in ("aliases", "unlimited"))
_built = lru_cache(maxsize=1024)(lambda pattern: PREDICATES["glob"].build(pattern, PLAIN))
