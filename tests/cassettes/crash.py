"""Adds episodes to a cassette for ever, and says of each that is kept its number: a process to be killed.

python -m tests.cassettes.crash CASSETTE NAME
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.format import round_times
from mockserver.core.episode import Episode
from mockserver.core.seed import Seed
from tests.cassettes import samples

PIECE = 16  # bytes
ANEW = 5  # the whole file is written for each such episode


def episode(name: str, number: int) -> Episode:
    """The episode of a process; some take many pages on disk."""
    size = int(Seed(number).draw_fraction(name) ** 6 * 400_000)
    whole = samples.plain(number, text=f"{name} ", size=size)
    return whole if number % 3 else round_times(samples.stream(number, events=number % 40))


def a_little(descriptor: int, data: bytes, *, write: Callable[[int, bytes], int] = os.write) -> int:
    """What a system may do that takes bytes a few at a time: there are many more moments to be killed in."""
    return write(descriptor, data[:PIECE])


def _behind(added: Episode, there: tuple[Episode, ...]) -> tuple[Episode, ...]:
    return (*there, added)


def main() -> None:
    """Appends, and now and then puts all anew, until it is killed."""
    os.write = a_little
    cassette, name, number = CassetteFile(Path(sys.argv[1])), sys.argv[2], 0
    os.write(1, b"ready\n")
    while True:
        number += 1
        added = episode(name, number)
        there = cassette.append(added) if number % ANEW else len(cassette.rewrite(partial(_behind, added)))
        os.write(1, f"{number} {there}\n".encode())


if __name__ == "__main__":
    main()
