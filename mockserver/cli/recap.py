"""What `mockserver run` tells at its end: how many calls came, what answered them, and those that no rule answered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mockserver.core.call import Call
from mockserver.core.errors import RuleError
from mockserver.core.exchange import Exchange
from mockserver.core.printable import printable
from mockserver.engine.engine import Engine
from mockserver.engine.prompts import counted
from mockserver.server.unruled import unruled

MOST_TOLD = 10  # calls that are explained


@dataclass(frozen=True, slots=True)
class Missed:
    """A call that no rule answered, or (`call` is None) that was refused before any could."""

    number: int
    request: str
    status: int
    call: Call | None


@dataclass(slots=True)
class Recap:
    """Counts exchanges as they close, and keeps the first that no rule answered."""

    calls: int = 0
    ruled: int = 0
    unmatched: int = 0
    refused: int = 0
    limited: int = 0
    missed: list[Missed] = field(default_factory=list)

    def note(self, exchange: Exchange) -> None:
        """Count an exchange that is over."""
        self.calls += 1
        self.ruled += exchange.source.startswith("rule ")
        unmatched, refused = unruled(exchange), exchange.source == "invalid"
        self.unmatched += unmatched
        self.refused += refused
        self.limited += exchange.source == "limited"
        if (unmatched or refused) and len(self.missed) < MOST_TOLD:
            request = f"{exchange.method} {printable(exchange.path)}"
            self.missed.append(Missed(exchange.seq, request, exchange.status, exchange.call if unmatched else None))

    def before(self, then: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
        """Count an exchange, then do something else with it."""

        def both(exchange: Exchange) -> None:
            self.note(exchange)
            then(exchange)

        return both

    def report(self, engine: Engine) -> Iterator[str]:
        """What is told; where there are no rules at all, no call is held against them."""
        yield f"mockserver: {_many(self.calls, 'call')}{self._shares(bool(engine.rules))}"
        told = [missed for missed in self.missed if missed.call is None or engine.rules]
        for missed in told:
            yield f"call {missed.number}, {missed.request} -> {missed.status}: {_why(missed, engine)}"
        left = (self.unmatched if engine.rules else 0) + self.refused - len(told)
        if left > 0:
            yield f"... and {left} more"

    def _shares(self, ruled: bool) -> str:
        """Of the calls, how many each thing befell."""
        if not ruled:
            return f", {self.refused} of them refused (no rules)" if self.refused else " (no rules)"
        shares = {"by rules": self.ruled, "unmatched": self.unmatched, "refused": self.refused, "limited": self.limited}
        shares["look-ups"] = self.calls - sum(shares.values())
        told = ", ".join(f"{count} {what}" for what, count in shares.items() if count)
        return f": {told}" if told else ""


def _why(missed: Missed, engine: Engine) -> str:
    if missed.call is None:
        return "refused before any rule was asked"
    try:
        return engine.explain(counted(missed.call, engine.policy.tokenizer(missed.call.model)))
    except RuleError as error:
        return str(error)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
