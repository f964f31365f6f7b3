"""`mockserver cassette verify`: what is doubtful of recordings, a line each."""

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from mockserver.cassettes.files import CassetteFile
from mockserver.cassettes.reading import entries
from mockserver.cassettes.verifying import Checks, findings
from mockserver.cli.cassette.folder import Folder, age, cassettes_flag, folder, leaks, many, picked
from mockserver.cli.cassette.played import Played
from mockserver.cli.cassette.telling import line
from mockserver.core.errors import MockserverError
from mockserver.core.json_text import Json
from mockserver.core.seed import wall

LONGEST = 400  # characters of a finding


@click.command(name="verify")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--max-age", callback=age, metavar="90d", help="Also find what was recorded longer ago than this.")
@click.option(
    "--journal", metavar="URL|FILE", help="Also find what a server has not played: its address, or its calls."
)
@cassettes_flag("allow_secrets", "control_token")
def command(names: tuple[str, ...], max_age: float | None, journal: str | None, **flags: Json) -> None:
    """Check the cassettes of the folder, or those that are named.

    Exit code 1 if anything was found, 2 if a file cannot be read.
    """
    where = folder(flags)
    played = None if journal is None else Played.of(journal, where)
    found = broken = episodes = 0
    cassettes = [where.found(picked(name)[0]) for name in names] or [where.cassette(name) for name in where.names()]
    for cassette in cassettes:
        try:
            checked, complaints = _checked(where, cassette, max_age, played)
        except MockserverError as error:
            broken += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
            continue
        episodes += checked
        found += len(complaints)
        for complaint in complaints:
            click.echo(complaint)
    click.echo(f"{many(len(cassettes) - broken, 'cassette')}, {many(episodes, 'episode')}, {many(found, 'finding')}")
    sys.exit(2 if broken else int(found > 0))


def _checked(
    where: Folder, cassette: CassetteFile, max_age: float | None, played: Played | None
) -> tuple[int, Sequence[str]]:
    """How many episodes a cassette has, and what is doubtful of them."""
    episodes = cassette.load()
    checks = Checks(
        now=wall(),
        max_age=max_age,
        mismatches=_mismatches(cassette),
        leaks=lambda episode: leaks(episode, where.settings),
        played=None if played is None else played.of_cassette(str(cassette.path.relative_to(where.path))),
    )
    return len(episodes), [
        line(f"{cassette.path}#{found.number}: {found.words}", LONGEST) for found in findings(episodes, checks)
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
