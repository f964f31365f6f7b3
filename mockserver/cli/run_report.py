"""What `mockserver run` tells at its end: who answered the calls, which nobody answered and why, what was recorded."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from mockserver.cassettes.redaction.shown_secrets import Secrets
from mockserver.cli.log_lines import list_remarks
from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.episode import Episode, name_file
from mockserver.core.plan import CRASH
from mockserver.core.row import Row
from mockserver.core.text import count_noun, escape_line, write_ranges
from mockserver.engine.answer import use_tokenizer
from mockserver.engine.engine import Engine
from mockserver.engine.outcomes import FORWARDED
from mockserver.reports.calls import explain_rejection
from mockserver.rules.nearest import find_unmatched
from mockserver.server.explain import explain_call, is_unmatched
from mockserver.server.live import Live, SaveEpisode
from mockserver.server.masking import find_row_secrets
from mockserver.server.programs import BUDGET
from mockserver.server.recording.player import CassetteChoice, Player

MAX_REPORTED = 10  # calls that are explained, and reasons that are listed
_WITHOUT_RULES = frozenset((CRASH, "generated", "invalid", "limited", "stored"))  # sources without rule or cassette


class Unanswered(Struct, frozen=True):
    """A call that nothing answered, or that was rejected or failed for a known reason (`why`).

    `engine` is the one that it reached: its namespace may get other rules or another cassette later.
    """

    number: int
    request: str
    status: int
    call: Call | None
    secrets: Secrets
    engine: Engine
    why: str = ""

    def explain(self) -> str:
        """Return the reason if it is known, else what the cassette says about a miss, else the nearest rules."""
        if self.why or self.call is None:
            return self.why
        call = use_tokenizer(self.call, self.engine.policy.tokenizer(self.call.model))
        try:
            return asyncio.run(explain_call(self.engine, self.call)).why or asyncio.run(self.engine.explain(call))
        except RuleError as error:
            return str(error)

    def __str__(self) -> str:
        request = escape_line(self.secrets.mask_text(self.request))
        return f"{request} -> {self.status}: {self.secrets.mask_text(self.explain())}"


class RunReport(Struct):
    """Counts the calls of a server as they end, and keeps the first that nothing answered.

    `episode_counts`: of each cassette that was read at the start, by file. In a namespace with neither rules nor a
    cassette, a generated answer does not count as a miss.
    """

    live: Live
    episode_counts: Mapping[str, int] = {}
    shows_service: bool = False
    calls: int = 0
    expects_rules: bool = False  # whether any call reached rules or a cassette
    shares: Counter[str] = field(default_factory=Counter)  # calls by what answered them
    replayed: Counter[str] = field(default_factory=Counter)  # by source: `cassette chat.yaml#3`
    recorded: Counter[str] = field(default_factory=Counter)  # by cassette file
    new: set[str] = set()  # sources of recorded episodes
    unrecorded: Counter[str] = field(default_factory=Counter)  # by reason
    targets: set[str] = set()  # cassette files that should get an episode
    service: Counter[str] = field(default_factory=Counter)  # calls that service rules answered
    remarks: Counter[str] = field(default_factory=Counter)  # calls by what no model could have answered
    unanswered: list[Unanswered] = []  # or failed

    def note(self, row: Row) -> None:
        if row.source.startswith("cassette "):
            self.replayed[row.source] += 1
        self.new.update((row.recorded,) if row.recorded else ())
        self.unrecorded.update((row.unrecorded,) if row.unrecorded else ())
        if row.is_service and not row.defect:
            self.service[row.source] += 1
            return
        engine = self.live.find_engine(row.namespace)
        choice = engine.player.choice if isinstance(engine.player, Player) else CassetteChoice()
        expects_rules = bool(engine.rules or choice.name) or row.source not in _WITHOUT_RULES
        self.calls += 1
        self.expects_rules |= expects_rules
        unmatched = expects_rules and is_unmatched(row)
        rejected = row.source == "invalid"
        self.shares["failed" if row.defect else _find_share(row, unmatched=unmatched)] += 1
        if row.source == FORWARDED and choice.name and (choice.forwards or row.unrecorded):
            self.targets.add(name_file(choice.name))
        if row.remarks:
            self.remarks.update(list_remarks(row))
        if (unmatched or rejected or row.defect) and len(self.unanswered) < MAX_REPORTED:
            call = row.call if unmatched else None
            self.unanswered.append(
                Unanswered(
                    row.seq,
                    f"{row.method} {row.path}",
                    status=row.status,
                    call=call and find_unmatched(engine.rules, call)[0],
                    secrets=find_row_secrets(row),
                    engine=engine,
                    why=row.defect or ("\n  ".join(explain_rejection(row)) if rejected else ""),
                )
            )

    def count_calls(self, log: Callable[[Row], None] | None) -> Callable[[Row], None]:
        if log is None:
            return self.note

        def log_both(row: Row) -> None:
            self.note(row)
            log(row)

        return log_both

    def count_episodes(self, save: SaveEpisode) -> SaveEpisode:
        """Return a function that records an episode, then counts it."""

        async def keep(cassette: str, episode: Episode) -> str:
            self.targets.add(name_file(cassette))
            source = await save(cassette, episode)
            self.recorded[name_file(cassette)] += 1
            return source

        return keep

    def list_lines(self) -> Iterator[str]:
        yield f"mockserver: {count_noun(self.calls, 'call')}{self._write_shares()}"
        for source, count in self.service.items() if self.shows_service else ():
            yield f"{source}: {count_noun(count, 'call')}"
        yield from (f"{name}: {budget.explain()}" for name, budget in self.live.budgets.items() if budget.refused)
        yield from self._describe_cassettes()
        for why, count in self.unrecorded.most_common(MAX_REPORTED):
            yield f"{count_noun(count, 'answer')} not recorded: {why}"
        for remark, count in self.remarks.most_common(MAX_REPORTED):
            yield f"{remark} ({count_noun(count, 'call')})"
        alike = dict[str, list[int]]()  # some clients ask again and again
        for each in self.unanswered:
            alike.setdefault(str(each), []).append(each.number)
        for text, numbers in alike.items():
            yield f"{f'call {numbers[0]}' if len(numbers) == 1 else f'calls {write_ranges(numbers)}'}, {text}"
        left = self.shares["unmatched"] + self.shares["rejected"] + self.shares["failed"] - len(self.unanswered)
        if left > 0:
            yield f"... and {left} more"

    def _write_shares(self) -> str:
        if not (self.expects_rules or self.live.engine.rules or self.live.settings.cassette):
            wrong = [f", {self.shares[share]} {share}" for share in ("failed", "rejected") if self.shares[share]]
            return f"{''.join(wrong)} (no rules)"
        counts = [f"{self.shares[share]} {share}" for share in _SHARES if self.shares[share]]
        if lookups := self.shares[_LOOKUP]:
            counts.append(count_noun(lookups, _LOOKUP))
        return f": {', '.join(counts)}" if counts else ""

    def _describe_cassettes(self) -> Iterator[str]:
        choice = self.live.player.choice
        store = self.live.player.store
        targets = {*self.targets, *((name_file(choice.name),) if choice.name and choice.forwards else ())}
        for file in dict.fromkeys((*self.episode_counts, *self.recorded, *sorted(targets))):
            if self.recorded[file]:
                yield f"cassette {file}: {count_noun(self.recorded[file], 'episode')} recorded"
            elif file in targets:
                ruled = self.shares["by rules"] and not self.shares["forwarded"]
                yield f"cassette {file}: nothing recorded" + ("; rules come first" if ruled else "")
            size = self.episode_counts.get(file, 0)
            size = min(size, store.episode_counts.get(file, size))  # recording may have merged equal ones
            sources = {number: f"cassette {file}#{number}" for number in range(1, size + 1)}
            idle = [number for number, source in sources.items() if not (self.replayed[source] or source in self.new)]
            if idle:
                yield f"cassette {file}: {len(idle)} of {count_noun(size, 'episode')} not played: {write_ranges(idle)}"


def _find_share(row: Row, *, unmatched: bool) -> str:
    kind = row.source.partition(" ")[0]
    if unmatched or is_unmatched(row):
        return "unmatched" if unmatched else "generated"
    return {"rule": "by rules", "cassette": "from cassettes", "invalid": "rejected", BUDGET: "over budget"}.get(
        kind, kind if kind in _SHARES else _LOOKUP
    )


_SHARES = (
    "by rules", "from cassettes", "forwarded", "unmatched", "generated", "failed", "rejected", "limited", "over budget",
)  # fmt: skip
_LOOKUP = "look-up"
