"""`mockserver cassette prune`: episodes that nobody needs any more go."""

import click

from mockserver.cli.cassette.folder import age, cassettes_flag, check_number, folder, many, picked
from mockserver.cli.cassette.played import Played
from mockserver.cli.cassette.telling import headline
from mockserver.core.episode import Episode
from mockserver.core.errors import ConfigError
from mockserver.core.json_text import Json
from mockserver.core.seed import wall


@click.command(name="prune")
@click.argument("name", metavar="NAME[#N]")
@click.option("--number", "numbers", type=click.IntRange(min=1), multiple=True, help="The episode of this number.")
@click.option("--older", callback=age, metavar="90d", help="What was recorded longer ago than this.")
@click.option("--unplayed", metavar="URL|FILE", help="What a server has not played: its address, or its calls.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@cassettes_flag("control_token")
def command(  # size: click gives each flag a parameter
    name: str,
    numbers: tuple[int, ...],
    older: float | None,
    unplayed: str | None,
    dry_run: bool,
    **flags: Json,
) -> None:
    """Remove episodes of NAME that any of the flags names, and say which. The numbers of those behind them change.

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
    click.echo(f"{cassette.path}: {many(len(gone), 'episode')} {done}, {len(episodes) - len(gone)} left")
