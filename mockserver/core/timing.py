"""When an answer goes out, as a value: no schedule and no clock."""

from dataclasses import dataclass, replace
from typing import Literal

Distribution = Literal["uniform", "normal", "lognormal"]


@dataclass(frozen=True, slots=True)
class Timing:
    """When tokens go out, in seconds: the first one (None: after as long as any other), each further one, the last.

    `jitter` is the share by which waits stray: by at most so much (uniform), or with this standard deviation.
    """

    first_token: float | None = None
    per_token: float = 0.0
    jitter: float = 0.0
    total: float | None = None
    prompt_per_1k: float = 0.0  # by how much the first token is later for each 1,000 tokens of the prompt
    distribution: Distribution = "uniform"

    @property
    def at_once(self) -> bool:
        """Whether nothing waits at all."""
        return not (self.first_token or self.per_token or self.total or self.prompt_per_1k)

    def after(self, prompt: int) -> "Timing":
        """The timing of an answer to a prompt of so many tokens."""
        if not self.prompt_per_1k:
            return self
        first = self.per_token if self.first_token is None else self.first_token
        return replace(self, first_token=first + self.prompt_per_1k * prompt / 1000, prompt_per_1k=0.0)
