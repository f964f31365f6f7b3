"""Episodes of cassettes that nobody asked for: the calls that they answered are made no more, or are others now."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from mockserver.reports.problems import Problem

MOST = 10  # runs of numbers that are listed


@dataclass(frozen=True, slots=True)
class Tape:
    """A cassette that was played: its file, how many episodes it held, and the numbers of those that were played."""

    file: str
    size: int
    played: tuple[int, ...]

    @property
    def idle(self) -> tuple[int, ...]:
        """The numbers of the episodes that were not played."""
        return tuple(sorted({*range(1, self.size + 1)} - {*self.played}))


def unplayed(tape: Tape) -> Iterator[Problem]:
    """What a test is told of its cassette, if there is anything to tell."""
    if tape.idle:
        line = f"{_of(tape)}; record it anew (--mockserver-record=all), or see why they are no longer asked for"
        yield Problem(line, line)


def summary(tapes: Iterable[Tape]) -> Iterator[str]:
    """What is told at the end of a run, a line for each cassette; several tests may have played one."""
    every: dict[str, Tape] = {}
    for tape in tapes:
        before = every.get(tape.file, tape)
        every[tape.file] = Tape(tape.file, min(before.size, tape.size), (*before.played, *tape.played))
    yield from (_of(tape) for _, tape in sorted(every.items()) if tape.idle)


def _of(tape: Tape) -> str:
    idle = tape.idle
    return f"{tape.file}: {len(idle)} of {tape.size} episode{'s' * (tape.size != 1)} not played: {_numbers(idle)}"


def _numbers(numbers: tuple[int, ...]) -> str:
    """Numbers in their order, those that follow each other in short: `#1, #3 to #5`."""
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after - before > 1)]
    ends = [*(before for before, after in pairwise(numbers) if after - before > 1), numbers[-1]]
    runs = [f"#{start}" + f" to #{end}" * (end > start) for start, end in zip(starts, ends, strict=True)]
    return ", ".join((*runs[:MOST], *(("...",) if len(runs) > MOST else ())))
