"""`mockserver cassette import`: recordings of other tools become a cassette."""

import sys
from pathlib import Path, PurePath

import click

from mockserver.cassettes.convert.imports import Imported, imported
from mockserver.cassettes.store import SUFFIX, CassetteFile
from mockserver.cli.cassette.folder import (
    Folder,
    cassettes_flag,
    folder,
    leaks,
    read_file,
    scrubber,
)
from mockserver.cli.cassette.meaning import known
from mockserver.cli.cassette.telling import line
from mockserver.config.errors import CassetteError, ConfigError, MockserverError
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.text import plural
from mockserver.dialects import discover


@click.command(name="import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--into", metavar="NAME", help="The cassette to import into [named after each file].")
@click.option("--dialect", help="The dialect of the recordings [found by host].")
@cassettes_flag("scrub", "allow_secrets")
def command(files: tuple[str, ...], into: str | None, dialect: str | None, **flags: Json) -> None:
    """Import each FILE (`-` reads standard input): a vcrpy cassette (YAML or JSON), a HAR file or a server's journal.

    Secrets are scrubbed. Calls that cannot be imported are reported and skipped; the exit code is then 1, or 2 if
    nothing was imported.

    \b
    mockserver cassette import tests/cassettes/test_chat.yaml
    mockserver cassette import one.har two.har --into chat
    curl -s 'http://127.0.0.1:8000/__mockserver__/api/calls?bodies=true' | mockserver cassette import - --into chat
    """
    if dialect is not None and dialect not in discover():
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover())}')
    where, houses = folder(flags), known()
    total = missed = 0
    for file in files:
        try:
            found = imported(read_file(file), file, houses, dialect)
        except MockserverError as error:
            missed += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
            continue
        missed += _left(found)
        taken, refused = _taken(found, where.cassette(into or _name(file)), where, file)
        total, missed = total + taken, missed + refused
    sys.exit(0 if not missed else 1 if total else 2)


def _taken(found: Imported, cassette: CassetteFile, where: Folder, file: str) -> tuple[int, int]:
    """Put episodes to the end of a cassette: how many were taken, or were there; and how many could not be."""
    scrubs, taken, refused = scrubber(where.settings), 0, 0
    there = set(map(_essence, cassette.load())) if cassette.exists else set()
    for episode, place in zip(found.episodes, found.places, strict=True):
        try:
            clean = scrubs.episode(episode)
            if _essence(clean) in there:
                continue
            why = leaks(clean, where.settings)
            if not why:
                cassette.append(clean)
                taken += 1
        except CassetteError as error:
            why = [str(error.mistakes[0])]
        if why:
            refused += 1
            click.echo(line(f"left out {place}: {'; '.join(why)}", 400), err=True)
    again = len(found.episodes) - taken - refused
    told = f"; {again} {'was' if again == 1 else 'were'} there already" if again else ""
    if taken or again:
        click.echo(f"{cassette.path}: {plural(taken, 'episode')} from {file}{told}")
    else:
        click.echo(f"{file}: no episode for {cassette.path}", err=True)
    return taken + again, refused


def _essence(episode: Episode) -> tuple[object, ...]:
    """What makes two recordings one: what was asked and what came, whenever."""
    sent, reply = episode.request, episode.reply
    return sent.method, sent.path, sent.query, sent.body, reply.status, reply.bytes


def _left(found: Imported) -> int:
    """Tell what was left, and how much of it one would have expected to be taken."""
    for left in found.left:
        click.echo(line(f"left out {left.where}: {left.why}", 400), err=True)
    if found.strangers:
        hosts = ", ".join(line(host, 60) for host, _ in found.strangers[:5]) + ", …" * (len(found.strangers) > 5)
        count = sum(count for _, count in found.strangers)
        words = f"left out {plural(count, 'request')} to hosts of no known provider ({hosts})"
        click.echo(f"{words}; --dialect says whose they are", err=True)
    return len(found.left) + (0 if found.episodes else len(found.strangers))


def _name(file: str) -> str:
    """The name of a cassette after that of a file."""
    if file == "-":
        raise CassetteError("say --into NAME: standard input has no name to call a cassette after")
    name = PurePath(Path(file).name)
    stem = name.stem if name.suffix in (SUFFIX, ".yml", ".json", ".har") else name.name
    return stem or "imported"
