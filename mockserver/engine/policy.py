"""What holds for every answer by the settings: the seed, the clock, the models, and what happens without a rule."""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import Memo, lazy_property
from mockserver.core.plan import Timing
from mockserver.core.seed import Seed, WallClock
from mockserver.core.tokens import APPROX, Tokenizer
from mockserver.engine.answer import Author
from mockserver.engine.catalogue import MAX_MODEL_NAME, Catalogue, Known, Model


class Policy(Struct, frozen=True, dict=True):
    """What holds for every answer by the settings.

    `error` has the fields of the Failure of an unmatched call, beside its reason. `announces`: webhooks tell how
    objects of the background end. `lints`: remarks are added on calls, and on answers of rules that no model could
    give. `tokenizer` returns that of a model, by its name.
    """

    seed: Seed = Seed()
    clock: WallClock = WallClock()
    unmatched: Literal["generate", "error"] = "generate"
    error: Mapping[str, Json] = {}
    unique_ids: bool = False
    announces: bool = False
    lints: bool = True
    models: Catalogue = Catalogue()
    timing: Timing = Timing()
    tokenizer: Callable[[str], Tokenizer] = lambda model: APPROX

    @lazy_property
    def author(self) -> Author:
        """What gives answers their ids and times."""
        return Author(self.seed, self.clock)

    @lazy_property
    def terms(self) -> "TermsByModel":
        """What holds for calls, by their dialects and models."""
        return TermsByModel(self)


class Terms(Struct, frozen=True):
    """What holds for the calls of a dialect to a model. `refusing` has the limits beyond which they are refused."""

    model: Known
    refusing: Model
    tokenizer: Tokenizer
    timing: Timing


class TermsByModel(Memo[tuple[str, str], Terms]):
    """The terms of dialects and models, worked out when they are first asked for."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(most=1 << 20)
        self._policy = policy

    def __missing__(self, key: tuple[str, str]) -> Terms:
        dialect, name = key
        models = self._policy.models
        known = models.find(name)
        timing = known.stated.timing or self._policy.timing
        terms = Terms(known, models.find_refusing(dialect, name), tokenizer=self._policy.tokenizer(name), timing=timing)
        return self.keep(key, terms, _TERMS_SIZE) if len(name) <= MAX_MODEL_NAME else terms


_TERMS_SIZE = 1_000  # bytes, about
