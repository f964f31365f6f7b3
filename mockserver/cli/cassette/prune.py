"""`mockserver cassette prune`: episodes that nobody needs any more go."""

import re

import click

from mockserver.cli.cassette.folder import age, cassettes_flag, check_number, folder, picked
from mockserver.cli.cassette.played import Played
from mockserver.cli.cassette.telling import headline
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.seed import wall
from mockserver.core.text import plural, printable


def _numbers(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers that are said, one by one or as the first and the last of several."""
    found = [_NUMBERS.fullmatch(text) for text in texts]
    for text, match in zip(texts, found, strict=True):
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise click.BadParameter(f"{printable(text, 40)} is no number of an episode; write 3, or 2-5")
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
def command(  # size: click gives each flag a parameter
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
    file, number = picked(name)
    if number is not None and (older is not None or unplayed is not None):
        raise ConfigError(f"{name} says what goes; leave out --older and --unplayed, or the number")
    numbers = numbers if number is None else (*numbers, number)
    if not numbers and older is None and unplayed is None:
        raise ConfigError(f"say what goes: {file}#3, --older 90d or --unplayed URL")
    where = folder(flags)
    cassette = where.found(file)
    source = str(cassette.path.relative_to(where.path))
    played = None if unplayed is None else Played.of(unplayed, where).of_cassette(source)
    now = wall()

    def goes(number: int, episode: Episode) -> bool:
        old = older is not None and bool(episode.at) and now - episode.at > older
        return number in numbers or old or (played is not None and number not in played)

    def kept(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        return tuple(episode for at, episode in enumerate(episodes, 1) if not goes(at, episode))

    episodes = cassette.load()
    check_number(cassette, max(numbers, default=None), len(episodes))
    gone = [(at, episode) for at, episode in enumerate(episodes, 1) if goes(at, episode)]
    if gone and not dry_run:
        cassette.rewrite(kept)
    for at, episode in gone:
        click.echo(headline(f"{source}#{at}", episode))
    done = "would go" if dry_run else "removed"
    click.echo(f"{cassette.path}: {plural(len(gone), 'episode')} {done}, {len(episodes) - len(gone)} left")


_NUMBERS = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?")
