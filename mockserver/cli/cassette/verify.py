"""`mockserver cassette verify`: what is doubtful of recordings, a line each."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

import click

from mockserver.cassettes.read import entries
from mockserver.cassettes.store import CassetteFile
from mockserver.cassettes.verify import Checks, findings
from mockserver.cli.cassette.folder import Folder, age, cassettes_flag, check_number, folder, leaks, picked
from mockserver.cli.cassette.meaning import unplayable
from mockserver.cli.cassette.played import Played
from mockserver.cli.cassette.telling import line
from mockserver.config.errors import MockserverError
from mockserver.core.json import Json
from mockserver.core.seed import wall
from mockserver.core.text import plural

LONGEST = 400  # characters of a finding


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be found beside what is wrong with an episode by itself; `journal` is where `played` comes from."""

    max_age: float | None
    journal: str
    played: Played | None


@click.command(name="verify")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@click.option("--max-age", callback=age, metavar="90d", help="Also report episodes older than this.")
@click.option(
    "--journal",
    metavar="URL|FILE",
    help="Also report episodes that a server has not used: its URL, or its saved calls.",
)
@cassettes_flag("allow_secrets", "control_token")
def command(names: tuple[str, ...], max_age: float | None, journal: str | None, **flags: Json) -> None:
    """Check all cassettes, or each NAME.

    The exit code is 1 if there are findings, 2 if a file cannot be read.

    \b
    mockserver cassette verify
    mockserver cassette verify chat --max-age 90d
    mockserver cassette verify --journal http://127.0.0.1:8000
    """
    where = folder(flags)
    asked = Asked(max_age, journal or "", None if journal is None else Played.of(journal, where))
    found = broken = cassettes = episodes = 0
    for name in names or where.names():
        try:
            checked, complaints = _checked(where, name, asked)
        except MockserverError as error:
            broken += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
            continue
        cassettes += 1
        episodes += checked
        found += len(complaints)
        for complaint in complaints:
            click.echo(complaint)
    if not cassettes and not broken:
        click.echo(f"no cassettes in {where.path}", err=True)
    click.echo(f"{plural(cassettes, 'cassette')}, {plural(episodes, 'episode')}, {plural(found, 'finding')}")
    sys.exit(2 if broken else int(found > 0))


def _checked(where: Folder, name: str, asked: Asked) -> tuple[int, Sequence[str]]:
    """How many episodes are meant by a name, and what is doubtful of them."""
    file, number = picked(name)
    cassette = where.found(file)
    episodes = cassette.load()
    check_number(cassette, number, len(episodes))
    checks = Checks(
        now=wall(),
        max_age=asked.max_age,
        mismatches=_mismatches(cassette),
        leaks=lambda episode: leaks(episode, where.settings),
        unplayable=unplayable,
        played=None if asked.played is None else asked.played.of_cassette(str(cassette.path.relative_to(where.path))),
        pruning=f"mockserver cassette prune {quote(file)} --unplayed {quote(asked.journal)}",
    )
    return len(episodes) if number is None else 1, [
        line(f"{cassette.path}#{found.number}: {found.words}", LONGEST)
        for found in findings(episodes, checks)
        if number in (None, found.number)
    ]


def _mismatches(cassette: CassetteFile) -> Mapping[int, str]:
    """The episodes whose bytes are not those that were recorded."""
    return dict(_altered(cassette))


def _altered(cassette: CassetteFile) -> Iterator[tuple[int, str]]:
    for number, entry in enumerate(entries(cassette.path.read_bytes(), str(cassette.path)), 1):
        if entry.altered:
            yield number, _EDITED


_EDITED = (
    "was edited: its bytes are not those of its sha256; record it anew, or, if that is meant, write `sha256: unknown`"
)
