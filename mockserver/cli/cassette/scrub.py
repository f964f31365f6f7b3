"""`mockserver cassette scrub`: what the settings say now, done to what was recorded before."""

import click

from mockserver.cli.cassette.folder import cassettes_flag, check_number, folder, picked, scrubber
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.text import plural


@click.command(name="scrub")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@cassettes_flag("scrub", "allow_secrets")
def command(names: tuple[str, ...], dry_run: bool, **flags: Json) -> None:  # click gives flags so
    """Apply the settings `scrub` and `allow_secrets` to NAME, and show what changed.

    Each file is changed completely or not at all.

    \b
    mockserver cassette scrub chat --dry-run
    mockserver cassette scrub chat tools#2
    """
    where = folder(flags)
    scrubs = scrubber(where.settings)
    for cassette, number in [(where.found(file), number) for file, number in map(picked, names)]:
        changed = list[str]()

        def scrubbed(
            episodes: tuple[Episode, ...], changed: list[str] = changed, number: int | None = number
        ) -> tuple[Episode, ...]:
            pairs = [
                (episode, scrubs.episode(episode) if number in (None, at) else episode)
                for at, episode in enumerate(episodes, 1)
            ]
            changed[:] = [
                f"#{at}: {', '.join(_parts(old, new))}" for at, (old, new) in enumerate(pairs, 1) if old != new
            ]
            return tuple(old if old == new else new for old, new in pairs)

        episodes = cassette.load()
        check_number(cassette, number, len(episodes))
        if scrubbed(episodes) != episodes and not dry_run:
            cassette.rewrite(scrubbed)
        for told in changed:
            click.echo(f"{cassette.path}{told}")
        click.echo(f"{cassette.path}: {plural(len(changed), 'episode')} {'to scrub' if dry_run else 'scrubbed'}")


def _parts(old: Episode, new: Episode) -> list[str]:
    """What of an episode has changed."""
    pairs = {
        "path": (old.request.path, new.request.path),
        "query": (old.request.query, new.request.query),
        "request headers": (old.request.headers, new.request.headers),
        "request body": (old.request.body, new.request.body),
        "answer headers": (old.reply.headers, new.reply.headers),
        "answer body": (old.reply.bytes, new.reply.bytes),
    }
    return [name for name, (before, after) in pairs.items() if before != after] or ["its head"]
