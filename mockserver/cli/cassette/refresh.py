"""`mockserver cassette refresh`: record old episodes again, and show what has changed in meaning."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cli.cassette.describe import MAX_FINDING, shorten_line
from mockserver.cli.cassette.folder import add_cassettes_flag, check_number, open_folder, parse_age, parse_name
from mockserver.cli.cassette.provider import Outcome, Resent, open_provider
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.seed import wall
from mockserver.core.text import count_noun


@click.command(name="refresh")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@click.option("--max-age", callback=parse_age, metavar="90d", help="Only episodes older than this.")
@click.option("--write", is_flag=True, help="Replace the episodes; else only show what would change.")
@add_cassettes_flag("upstream", "upstream_timeout", "scrub", "allow_secrets")
def refresh_command(names: tuple[str, ...], max_age: float | None, write: bool, **flags: Json) -> None:
    """Record all cassettes, or each NAME, again from the provider, and show what has changed in meaning.

    Changes of status, fields, types and the order of events are shown, those of words are not. Without --write nothing
    is written, and the exit code is 1 if anything has changed. It is 2 if a request failed or could not be sent; its
    old answer stays.

    \b
    mockserver cassette refresh --max-age 90d --upstream openai=https://api.openai.com/v1
    mockserver cassette refresh chat tools#2 --write --upstream openai=https://api.openai.com/v1
    """
    folder = open_folder(flags)
    changed = unchecked = 0
    with open_provider(folder.settings) as provider:
        for name in names or folder.list_names():
            file, number = parse_name(name)
            cassette = folder.find(file)
            episodes = cassette.load()
            check_number(cassette, number, len(episodes))
            wanted = frozenset(_select(episodes, number, max_age))
            found = provider.resend(episodes, wanted)
            for each in found:
                for words in (each.why,) if each.why else each.drift:
                    click.echo(shorten_line(f"{cassette.path}#{each.number}: {words}", MAX_FINDING))
            if write:
                _replace(cassette, found)
            changed += _count_changed(found)
            unchecked += sum(not each.is_checked for each in found)
            click.echo(f"{cassette.path}: {_summarize(found, len(episodes), write=write)}")
    sys.exit(2 if unchecked else int(changed > 0 and not write))


def _select(episodes: Sequence[Episode], number: int | None, max_age: float | None) -> Iterator[int]:
    """Yield the numbers of the episodes to record again; one without a time is old."""
    now = wall()
    for at, episode in enumerate(episodes, 1):
        if number in (None, at) and (max_age is None or now - episode.at > max_age):
            yield at


def _replace(cassette: CassetteFile, found: Sequence[Resent]) -> None:
    news = {each.number: each for each in found if each.new is not None}

    def change(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        if any(episodes[at - 1 : at] != (each.old,) for at, each in news.items()):
            raise CassetteError(f"{cassette.path}: was changed meanwhile; nothing was written, try again")
        made = {at: each.new for at, each in news.items()}
        return tuple(made.get(at) or episode for at, episode in enumerate(episodes, 1))

    if news:
        cassette.rewrite(change)


def _count_changed(found: Sequence[Resent]) -> int:
    return sum(bool(each.drift) and each.outcome is Outcome.ANSWERED for each in found)


def _summarize(found: Sequence[Resent], size: int, *, write: bool) -> str:
    counts = Counter(each.outcome for each in found)
    changed = _count_changed(found)
    answered = counts[Outcome.ANSWERED] + counts[Outcome.KEPT]
    failed = counts[Outcome.FAILED]
    told = f"{answered} of {count_noun(size, 'episode')} answered again, {changed} changed in meaning, {failed} failed"
    for outcome in (Outcome.KEPT, Outcome.NOT_SENT, Outcome.SKIPPED):
        told += f", {counts[outcome]} {outcome.value}" if counts[outcome] else ""
    reworded = counts[Outcome.ANSWERED] - changed
    done = [f"{'replaced' if write else 'replace'} {changed}"] if changed else []
    done += [f"{'updated' if write else 'update'} the words and times of {reworded}"] if reworded else []
    return f"{told}; {'' if write else '--write would '}{' and '.join(done)}" if done else told
