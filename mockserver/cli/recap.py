"""What `mockserver run` tells at its end: how many calls came, what answered them, and those that nothing did; which
episodes of cassettes were not played, and what was recorded.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.episode import Episode
from mockserver.core.exchange import Exchange
from mockserver.core.text import plural, printable
from mockserver.engine.answer import counted
from mockserver.engine.engine import FORWARDED, Engine
from mockserver.server.cassette_store import file_of
from mockserver.server.control.requests import of_row
from mockserver.server.explain import explain_call, is_unmatched
from mockserver.server.live import Keep, Live
from mockserver.server.replay import CassetteChoice, Player

MOST_TOLD = 10  # calls that are explained, and runs of numbers that are listed


@dataclass(frozen=True, slots=True)
class Missed:
    """A call that nothing answered, or (`call` is None) that was refused before anything could; its credentials.

    `engine` is what it came to: the namespace may be told to play something else afterwards.
    """

    number: int
    request: str
    status: int
    call: Call | None
    secrets: Secrets
    engine: Engine


@dataclass(slots=True)
class Recap:
    """Counts the exchanges of a server as they close, and keeps the first that nothing answered.

    `there`: how many episodes each cassette had that was read at the start, by its file. Where a namespace has neither
    rules nor a cassette, an answer that is made up is not held against its call.
    """

    live: Live
    there: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    held: bool = False  # whether any call came to rules or a cassette
    ruled: int = 0
    forwarded: int = 0
    unmatched: int = 0
    made_up: int = 0
    refused: int = 0
    limited: int = 0
    played: Counter[str] = field(default_factory=Counter)  # by their sources: `cassette chat.yaml#3`
    recorded: Counter[str] = field(default_factory=Counter)  # by the files of cassettes
    new: set[str] = field(default_factory=set)  # the sources that were recorded
    unrecorded: Counter[str] = field(default_factory=Counter)  # by why
    into: set[str] = field(default_factory=set)  # the files that should have got an episode
    missed: list[Missed] = field(default_factory=list)

    def note(self, exchange: Exchange) -> None:
        """Count an exchange that is over."""
        engine = self.live.namespaces.get(exchange.namespace).engine(self.live.engine)
        choice = _choice(engine)
        held = bool(engine.rules or choice.name) or exchange.source not in _OF_ITSELF
        self.calls += 1
        self.held |= held
        self.ruled += exchange.source.startswith("rule ")
        self.forwarded += exchange.source == FORWARDED
        if exchange.source == FORWARDED and choice.name and (choice.forwards or exchange.unrecorded):
            self.into.add(file_of(choice.name))
        if exchange.source.startswith("cassette "):
            self.played[exchange.source] += 1
        self.new.update((exchange.recorded,) if exchange.recorded else ())
        self.unrecorded.update((exchange.unrecorded,) if exchange.unrecorded else ())
        unmatched, refused = held and is_unmatched(exchange), exchange.source == "invalid"
        self.unmatched += unmatched
        self.made_up += not held and is_unmatched(exchange)
        self.refused += refused
        self.limited += exchange.source == "limited"
        if (unmatched or refused) and len(self.missed) < MOST_TOLD:
            request, call = f"{exchange.method} {exchange.path}", exchange.call if unmatched else None
            self.missed.append(Missed(exchange.seq, request, exchange.status, call, of_row(exchange), engine))

    def before(self, then: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
        """Count an exchange, then do something else with it."""

        def both(exchange: Exchange) -> None:
            self.note(exchange)
            then(exchange)

        return both

    def counting(self, keep: Keep) -> Keep:
        """Have an episode kept, then count it."""

        async def kept(cassette: str, episode: Episode) -> str:
            self.into.add(file_of(cassette))
            source = await keep(cassette, episode)
            self.recorded[file_of(cassette)] += 1
            return source

        return kept

    def report(self) -> Iterator[str]:
        """What is told."""
        yield f"mockserver: {plural(self.calls, 'call')}{self._shares()}"
        yield from self._of_cassettes()
        for why, count in self.unrecorded.most_common(MOST_TOLD):
            yield f"{plural(count, 'answer')} not recorded: {why}"
        for missed in self.missed:
            why = missed.secrets.text(_why(missed))
            yield f"call {missed.number}, {printable(missed.secrets.text(missed.request))} -> {missed.status}: {why}"
        left = self.unmatched + self.refused - len(self.missed)
        if left > 0:
            yield f"... and {left} more"

    def _shares(self) -> str:
        """Of the calls, how many each thing befell."""
        if not (self.held or self.live.engine.rules or self.live.settings.cassette):
            return f", {self.refused} of them refused (no rules)" if self.refused else " (no rules)"
        shares = {
            "by rules": self.ruled,
            "from cassettes": self.played.total(),
            "asked upstream": self.forwarded,
            "unmatched": self.unmatched,
            "made up": self.made_up,
            "refused": self.refused,
            "limited": self.limited,
        }
        looked_up = self.calls - sum(shares.values())
        shares["look-up" if looked_up == 1 else "look-ups"] = looked_up
        told = ", ".join(f"{count} {what}" for what, count in shares.items() if count)
        return f": {told}" if told else ""

    def _of_cassettes(self) -> Iterator[str]:
        """What was recorded into each, and which episodes of those that were there nobody asked for."""
        choice = self.live.player.choice
        into = {*self.into, *((file_of(choice.name),) if choice.name and choice.forwards else ())}
        for file in dict.fromkeys((*self.there, *self.recorded, *sorted(into))):
            if self.recorded[file]:
                yield f"cassette {file}: {plural(self.recorded[file], 'episode')} recorded"
            elif file in into:
                yield f"cassette {file}: nothing was recorded"
            size = self.there.get(file, 0)
            size = min(size, self.live.player.cassettes.sizes.get(file, size))  # equal ones may be one now
            sources = {number: f"cassette {file}#{number}" for number in range(1, size + 1)}
            idle = [number for number, source in sources.items() if not (self.played[source] or source in self.new)]
            if idle:
                yield f"cassette {file}: {len(idle)} of {plural(size, 'episode')} not played: {_numbers(idle)}"


def _choice(engine: Engine) -> CassetteChoice:
    """The cassette that an engine plays, if any."""
    return engine.tapes.choice if isinstance(engine.tapes, Player) else CassetteChoice()


def _why(missed: Missed) -> str:
    """Why nothing answered: what the cassette says that was looked into, else which rules come nearest."""
    if missed.call is None:
        return "refused before any rule was asked"
    engine = missed.engine
    call = counted(missed.call, engine.policy.tokenizer(missed.call.model))
    try:
        return asyncio.run(explain_call(engine, missed.call)).why or engine.explain(call)
    except RuleError as error:
        return str(error)


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers in their order, those that follow each other in short: `#1, #3 to #5`."""
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after - before > 1)]
    ends = [*(before for before, after in pairwise(numbers) if after - before > 1), numbers[-1]]
    runs = [f"#{start}" + f" to #{end}" * (end > start) for start, end in zip(starts, ends, strict=True)]
    return ", ".join((*runs[:MOST_TOLD], *(("...",) if len(runs) > MOST_TOLD else ())))


_OF_ITSELF = frozenset(("generated", "invalid", "limited", "stored"))  # answered so without rules and cassettes too
