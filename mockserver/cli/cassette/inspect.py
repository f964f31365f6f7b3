"""`mockserver cassette list`, `show` and `verify`: what cassettes contain, and whether they can be trusted."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from shlex import quote

import click

from mockserver.cassettes.store import CassetteFile
from mockserver.cassettes.verify import Checks, findings
from mockserver.cli.cassette.describe import day, full_description, headline, line, size
from mockserver.cli.cassette.folder import (
    Folder,
    age,
    cassettes_flag,
    check_number,
    folder,
    leaks,
    parse_name,
    played_episodes,
)
from mockserver.config.errors import CassetteError, MockserverError
from mockserver.config.source import did_you_mean
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import wall
from mockserver.core.text import aligned, plural
from mockserver.dialects import discover
from mockserver.server.cassette_store import parse_episode, parse_sent_strictly

MAX_FINDING = 400  # characters


@click.command(name="list")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@cassettes_flag()
def list_command(names: tuple[str, ...], **flags: Json) -> int:
    """List all cassettes, or the episodes of each NAME.

    \b
    mockserver cassette list
    mockserver cassette list chat tools --cassettes tests/cassettes
    """
    where = folder(flags)
    for name in names:
        for source, episode in where.episodes(name).items():
            click.echo(headline(source, episode))
    return 0 if names else _list_all(where)


def _list_all(where: Folder) -> int:
    broken, rows = 0, list[Sequence[str]]()
    for name in where.names():
        try:
            rows.append(_row(where, where.cassette(name)))
        except MockserverError as error:
            broken += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
    for row in aligned(rows):
        click.echo(row)
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


@click.command(name="show")
@click.argument("name", metavar="NAME[#N]")
@click.option("--raw", is_flag=True, help="Print the exact body of one episode's answer.")
@cassettes_flag()
def show_command(name: str, raw: bool, **flags: Json) -> None:
    """Show all episodes of NAME, or its episode N.

    \b
    mockserver cassette show chat
    mockserver cassette show chat#3 --raw > answer.json
    """
    episodes = folder(flags).episodes(name)
    if raw:
        if len(episodes) != 1:
            raise CassetteError(f"{name} has {len(episodes)} episodes: choose one, such as {name}#1")
        click.echo(next(iter(episodes.values())).reply.bytes, nl=False)
        return
    shown = ("\n".join(full_description(source, one, parse_episode(one))) for source, one in episodes.items())
    click.echo("\n\n".join(shown))


@click.command(name="verify")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@click.option("--max-age", callback=age, metavar="90d", help="Also report episodes older than this.")
@click.option(
    "--journal",
    metavar="URL|FILE",
    help="Also report episodes that a server has not used: its URL, or its saved calls.",
)
@cassettes_flag("allow_secrets", "control_token")
def verify_command(names: tuple[str, ...], max_age: float | None, journal: str | None, **flags: Json) -> None:
    """Check all cassettes, or each NAME.

    The exit code is 1 if there are findings, 2 if a file cannot be read.

    \b
    mockserver cassette verify
    mockserver cassette verify chat --max-age 90d
    mockserver cassette verify --journal http://127.0.0.1:8000
    """
    where = folder(flags)
    checks = Checks(
        now=wall(),
        max_age=max_age,
        leaks=lambda episode: leaks(episode, where.settings),
        unplayable=unplayable,
        played=None if journal is None else played_episodes(journal, where),
        pruning=f"--unplayed {quote(journal or '')}",
    )
    found = broken = cassettes = episodes = 0
    for name in names or where.names():
        try:
            checked, complaints = _verified(where, name, checks)
        except MockserverError as error:
            broken += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
            continue
        cassettes, episodes, found = cassettes + 1, episodes + checked, found + len(complaints)
        for complaint in complaints:
            click.echo(complaint)
    if not cassettes and not broken:
        click.echo(f"no cassettes in {where.path}", err=True)
    click.echo(f"{plural(cassettes, 'cassette')}, {plural(episodes, 'episode')}, {plural(found, 'finding')}")
    sys.exit(2 if broken else int(found > 0))


def _verified(where: Folder, name: str, checks: Checks) -> tuple[int, Sequence[str]]:
    file, number = parse_name(name)
    cassette = where.found(file)
    documents = cassette.documents()
    check_number(cassette, number, len(documents))
    checks = replace(
        checks,
        source=str(cassette.path.relative_to(where.path)),
        mismatches=frozenset(at for at, document in enumerate(documents, 1) if document.is_edited),
        pruning=f"mockserver cassette prune {quote(file)} {checks.pruning}",
    )
    return len(documents) if number is None else 1, [
        line(f"{cassette.path}#{at}: {words}", MAX_FINDING)
        for at, words in findings([document.episode for document in documents], checks)
        if number in (None, at)
    ]


def unplayable(episode: Episode) -> Iterator[str]:
    """Why the episode can never be replayed, or what it says wrongly of its request."""
    dialect, sent = episode.dialect, episode.request
    if dialect not in discover():
        yield f'can never be replayed: unknown dialect "{dialect}"{did_you_mean(dialect, discover())}'
        return
    try:
        call = parse_sent_strictly(dialect, sent)
    except Failure as refused:
        why = str(refused).removesuffix(".")
        yield f"can never be replayed: {dialect} refuses its request: {why}; correct it, or record it again"
        return
    if call is None:
        yield f"can never be replayed: {dialect} has no {sent.method} {sent.path}; correct its method and path"
    elif call.operation != episode.operation:
        yield f'has the operation "{episode.operation}", but {sent.method} {sent.path} is {call.operation}'
