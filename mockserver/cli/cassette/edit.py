"""`mockserver cassette scrub` and `prune`: remove secrets or whole episodes from cassettes."""

import re
from collections.abc import Callable
from functools import partial

import click

from mockserver.cli.cassette.folder import (
    age,
    cassettes_flag,
    check_number,
    folder,
    parse_name,
    played_episodes,
    redactor,
)
from mockserver.cli.cassette.inspect import headline
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.seed import wall
from mockserver.core.text import plural, printable


@click.command(name="scrub")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@cassettes_flag("scrub", "allow_secrets")
def scrub_command(names: tuple[str, ...], dry_run: bool, **flags: Json) -> None:
    """Apply the settings `scrub` and `allow_secrets` to NAME, and show what changed.

    Each file is changed completely or not at all.

    \b
    mockserver cassette scrub chat --dry-run
    mockserver cassette scrub chat tools#2
    """
    where = folder(flags)
    redact = redactor(where.settings).episode
    for cassette, number in [(where.found(file), number) for file, number in map(parse_name, names)]:
        scrubbed = partial(_scrubbed, redact, number)
        episodes = cassette.load()
        check_number(cassette, number, len(episodes))
        pairs = zip(episodes, scrubbed(episodes), strict=True)
        changed = [(at, _changes(old, new)) for at, (old, new) in enumerate(pairs, 1) if old != new]
        if changed and not dry_run:
            cassette.rewrite(scrubbed)
        for at, parts in changed:
            click.echo(f"{cassette.path}#{at}: {', '.join(parts)}")
        click.echo(f"{cassette.path}: {plural(len(changed), 'episode')} {'to scrub' if dry_run else 'scrubbed'}")


def _scrubbed(
    redact: Callable[[Episode], Episode], number: int | None, episodes: tuple[Episode, ...]
) -> tuple[Episode, ...]:
    pairs = ((old, redact(old) if number in (None, at) else old) for at, old in enumerate(episodes, 1))
    return tuple(old if old == new else new for old, new in pairs)


def _changes(old: Episode, new: Episode) -> list[str]:
    parts = {
        "path": (old.request.path, new.request.path),
        "query": (old.request.query, new.request.query),
        "request headers": (old.request.headers, new.request.headers),
        "request body": (old.request.body, new.request.body),
        "answer headers": (old.reply.headers, new.reply.headers),
        "answer body": (old.reply.bytes, new.reply.bytes),
    }
    return [name for name, (before, after) in parts.items() if before != after] or ["model"]


def _numbers(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Episode numbers, given one by one (3) or as ranges (2-5)."""
    found = [_NUMBERS.fullmatch(text) for text in texts]
    for text, match in zip(texts, found, strict=True):
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise click.BadParameter(f"{printable(text, 40)} is not an episode number; write 3, or 2-5")
    return tuple(number for match in found if match for number in range(int(match[1]), int(match[2] or match[1]) + 1))


@click.command(name="prune")
@click.argument("name", metavar="NAME[#N]")
@click.option("--number", "numbers", callback=_numbers, multiple=True, help="The episodes to remove: 3, or 2-5.")
@click.option("--older", callback=age, metavar="90d", help="Remove episodes older than this.")
@click.option(
    "--unplayed", metavar="URL|FILE", help="Remove episodes that a server has not used: its URL, or its saved calls."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@cassettes_flag("control_token")
def prune_command(  # size: click gives each flag a parameter
    name: str,
    numbers: tuple[int, ...],
    older: float | None,
    unplayed: str | None,
    dry_run: bool,
    **flags: Json,
) -> None:
    """Remove the episodes of NAME that any option selects, and list them. Later episodes are renumbered.

    \b
    mockserver cassette prune chat#3
    mockserver cassette prune chat --older 90d --dry-run
    mockserver cassette prune chat --unplayed http://127.0.0.1:8000
    """
    file, number = parse_name(name)
    if number is not None and (older is not None or unplayed is not None):
        raise ConfigError(f"{name} selects one episode already; leave out --older and --unplayed, or the number")
    numbers = numbers if number is None else (*numbers, number)
    if not numbers and older is None and unplayed is None:
        raise ConfigError(f"select what to remove: {file}#3, --older 90d or --unplayed URL")
    where = folder(flags)
    cassette = where.found(file)
    source = str(cassette.path.relative_to(where.path))
    played = None if unplayed is None else played_episodes(unplayed, where)
    now = wall()

    def is_selected(number: int, episode: Episode) -> bool:
        old = older is not None and bool(episode.at) and now - episode.at > older
        return number in numbers or old or (played is not None and f"{source}#{number}" not in played)

    def kept(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        return tuple(episode for at, episode in enumerate(episodes, 1) if not is_selected(at, episode))

    episodes = cassette.load()
    check_number(cassette, max(numbers, default=None), len(episodes))
    removed = [(at, episode) for at, episode in enumerate(episodes, 1) if is_selected(at, episode)]
    if removed and not dry_run:
        cassette.rewrite(kept)
    for at, episode in removed:
        click.echo(headline(f"{source}#{at}", episode))
    done = "would be removed" if dry_run else "removed"
    click.echo(f"{cassette.path}: {plural(len(removed), 'episode')} {done}, {len(episodes) - len(removed)} left")


_NUMBERS = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?")
