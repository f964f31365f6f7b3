"""`mockserver cassette list`: the cassettes of a folder, or the episodes of some, a line each."""

from collections.abc import Iterator, Sequence

import click

from mockserver.cassettes.store import CassetteFile
from mockserver.cli.cassette.folder import Folder, cassettes_flag, folder, numbered, picked
from mockserver.cli.cassette.telling import day, headline, line, size
from mockserver.config.errors import MockserverError
from mockserver.core.json import Json
from mockserver.core.text import plural


@click.command(name="list")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@cassettes_flag()
def command(names: tuple[str, ...], **flags: Json) -> int:
    """List all cassettes, or the episodes of each NAME.

    \b
    mockserver cassette list
    mockserver cassette list chat tools --cassettes tests/cassettes
    """
    where = folder(flags)
    if names:
        for name in names:
            cassette, number = where.found(picked(name)[0]), picked(name)[1]
            for at, episode in numbered(cassette, number):
                click.echo(headline(where.source(cassette, at), episode))
        return 0
    broken = 0
    rows = list[Sequence[str]]()
    for name in where.names():
        try:
            rows.append(_row(where, where.cassette(name)))
        except MockserverError as error:
            broken += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
    for told in _columns(rows):
        click.echo(told)
    if not rows and not broken:
        click.echo(f"no cassettes in {where.path}", err=True)
    return 2 if broken else 0


def _row(where: Folder, cassette: CassetteFile) -> Sequence[str]:
    episodes = cassette.load()
    dialects = dict.fromkeys(episode.dialect for episode in episodes)
    models = dict.fromkeys(episode.model for episode in episodes if episode.model)
    recorded = [episode.at for episode in episodes if episode.at]
    return (
        str(cassette.path.relative_to(where.path)),
        plural(len(episodes), "episode"),
        size(cassette.path.stat().st_size),
        day(max(recorded)) if recorded else "-",
        line(" ".join(dialects)) or "-",
        line(", ".join(models)),
    )


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with columns of one width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
