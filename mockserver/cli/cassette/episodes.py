"""`mockserver cassette list`, `show`, `verify`, `scrub` and `prune`: what cassettes contain, and what is removed."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.verify import Checks, Finding, list_findings
from mockserver.cli.cassette.describe import (
    MAX_FINDING,
    describe_episode,
    format_day,
    shorten_line,
    summarize_episode,
)
from mockserver.cli.cassette.folder import (
    CassetteFolder,
    add_cassettes_flag,
    check_number,
    find_played,
    list_leaks,
    make_redactor,
    open_folder,
    parse_age,
    parse_name,
)
from mockserver.config.errors import CassetteError, ConfigError, MockserverError
from mockserver.config.source import did_you_mean
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.seed import wall
from mockserver.core.text import align_columns, count_noun, format_size, show_value
from mockserver.dialects import discover
from mockserver.server.recording.recorded_calls import parse_episode, parse_sent
from mockserver.server.routes import find_dialect

if TYPE_CHECKING:
    from mockserver.cli.cassette.provider import Provider


@click.command(name="list")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@add_cassettes_flag()
def list_command(names: tuple[str, ...], **flags: Json) -> int:
    """List all cassettes, or the episodes of each NAME.

    \b
    mockserver cassette list
    mockserver cassette list chat tools --cassettes tests/cassettes
    """
    folder = open_folder(flags)
    return _list_episodes(folder, names) if names else _list_all(folder)


def _list_episodes(folder: CassetteFolder, names: Sequence[str]) -> int:
    broken = 0
    for name in names:
        try:
            for source, episode in folder.load(name).items():
                click.echo(summarize_episode(source, episode))
        except MockserverError as error:
            broken += 1
            _tell(error)
    return 2 if broken else 0


def _list_all(folder: CassetteFolder) -> int:
    broken = 0
    rows = list[Sequence[str]]()
    for name in folder.list_names():
        try:
            rows.append(_make_row(folder, folder.get(name)))
        except MockserverError as error:
            broken += 1
            _tell(error)
    for row in align_columns(rows):
        click.echo(row)
    if not rows and not broken:
        click.echo(f"no cassettes in {folder.path}", err=True)
    return 2 if broken else 0


def _tell(error: MockserverError) -> None:
    """Tell what is wrong with one cassette, before others are listed."""
    click.echo(f"mockserver: {error.mistakes[0]}", err=True)


def _make_row(folder: CassetteFolder, cassette: CassetteFile) -> Sequence[str]:
    episodes = cassette.load()
    dialects = dict.fromkeys(episode.dialect for episode in episodes)
    models = dict.fromkeys(episode.model for episode in episodes if episode.model)
    recorded = [episode.at for episode in episodes if episode.at]
    return (
        cassette.path.relative_to(folder.path).as_posix(),
        count_noun(len(episodes), "episode"),
        format_size(cassette.path.stat().st_size),
        format_day(max(recorded)) if recorded else "-",
        shorten_line(" ".join(dialects)) or "-",
        shorten_line(", ".join(models)),
    )


@click.command(name="show")
@click.argument("name", metavar="NAME[#N]")
@click.option("--raw", is_flag=True, help="Print the exact body of one episode's answer.")
@add_cassettes_flag()
def show_command(name: str, raw: bool, **flags: Json) -> None:
    """Show all episodes of NAME, or its episode N.

    \b
    mockserver cassette show chat
    mockserver cassette show chat#3 --raw > answer.json
    """
    episodes = open_folder(flags).load(name)
    if raw:
        if len(episodes) != 1:
            raise CassetteError(f"{name} has {len(episodes)} episodes: choose one, such as {name}#1")
        click.echo(next(iter(episodes.values())).reply.bytes, nl=False)
        return
    shown = ("\n".join(describe_episode(source, one, parse_episode(one))) for source, one in episodes.items())
    click.echo("\n\n".join(shown))


@click.command(name="verify")
@click.argument("names", metavar="[NAME[#N]]...", nargs=-1)
@click.option("--max-age", callback=parse_age, metavar="90d", help="Also report episodes older than this.")
@click.option(
    "--journal",
    metavar="URL|FILE",
    help="Also report episodes that a server has not used: its URL, or its saved calls.",
)
@click.option("--live", is_flag=True, help="Also send the requests to the provider; report what changed in meaning.")
@add_cassettes_flag("allow_secrets", "control_token", "upstream", "upstream_timeout")
def verify_command(
    names: tuple[str, ...], max_age: float | None, journal: str | None, live: bool, **flags: Json
) -> None:
    """Check all cassettes, or each NAME.

    The exit code is 1 if there are findings; it is 2 if a file cannot be read or, with --live, a request failed or
    could not be sent. Nothing is written.

    \b
    mockserver cassette verify
    mockserver cassette verify chat --max-age 90d
    mockserver cassette verify --journal http://127.0.0.1:8000
    mockserver cassette verify --live --upstream openai=https://api.openai.com/v1
    """
    folder = open_folder(flags)
    checks = Checks(
        now=wall(),
        max_age=max_age,
        leaks=lambda episode: list_leaks(episode, folder.settings),
        unplayable=explain_unplayable,
        played=None if journal is None else find_played(journal, folder),
        pruning=f"--unplayed {quote(journal or '')}",
    )
    found = broken = unchecked = cassettes = episodes = 0
    with _open_provider(folder) if live else nullcontext() as provider:
        for name in names or folder.list_names():
            try:
                verified = _verify(folder, name, checks=checks, provider=provider)
            except MockserverError as error:
                broken += 1
                click.echo(f"mockserver: {error.mistakes[0]}", err=True)
                continue
            cassettes = cassettes + 1
            episodes = episodes + verified.episodes
            found = found + len(verified.findings)
            unchecked += len(verified.unchecked)
            for finding in verified.findings:
                click.echo(finding)
            for failure in verified.unchecked:
                click.echo(f"mockserver: {failure}", err=True)
    if not cassettes and not broken:
        click.echo(f"no cassettes in {folder.path}", err=True)
    counted = f"{count_noun(cassettes, 'cassette')}, {count_noun(episodes, 'episode')}, {count_noun(found, 'finding')}"
    not_checked = f"; {count_noun(broken, 'cassette')} not checked" if broken else ""
    not_compared = f"; {count_noun(unchecked, 'episode')} not compared" if unchecked else ""
    click.echo(f"{counted}{not_checked}{not_compared}")
    sys.exit(2 if broken or unchecked else int(found > 0))


def _open_provider(folder: CassetteFolder) -> AbstractContextManager["Provider"]:
    from mockserver.cli.cassette.provider import open_provider  # slow: a server

    return open_provider(folder.settings)


class Verified(Struct, frozen=True):
    """How many episodes of a cassette were checked, what was found, and which the provider could not be asked about."""

    episodes: int
    findings: Sequence[str]
    unchecked: Sequence[str]


def _verify(folder: CassetteFolder, name: str, checks: Checks, provider: "Provider | None") -> Verified:
    file, number = parse_name(name)
    cassette = folder.find(file)
    if not cassette.path.stat().st_size:
        raise CassetteError(f"{cassette.path}: the file is empty: was it cut off? Record it again, or remove it")
    documents = cassette.load_documents()
    check_number(cassette, number, len(documents))
    checks = replace(
        checks,
        source=cassette.path.relative_to(folder.path).as_posix(),
        mismatches=frozenset(at for at, document in enumerate(documents, 1) if document.is_edited),
        pruning=f"mockserver cassette prune {quote(file)} {checks.pruning}",
    )
    episodes = [document.episode for document in documents]
    wanted = frozenset(range(1, len(episodes) + 1)) if number is None else frozenset((number,))
    found = [finding for finding in list_findings(episodes, checks) if finding.number in wanted]
    sent = () if provider is None else provider.resend(episodes, wanted)
    found += [Finding(each.number, words) for each in sent for words in each.drift]
    unchecked = [Finding(each.number, each.why) for each in sent if not each.is_checked]

    def write(lines: Sequence[Finding]) -> Sequence[str]:
        return [shorten_line(f"{cassette.path}#{line.number}: {line.words}", MAX_FINDING) for line in lines]

    return Verified(len(wanted), write(found), write(unchecked))


def explain_unplayable(episode: Episode) -> Iterator[str]:
    """Yield why the episode can never be replayed, or what it states wrongly about its request."""
    dialect = episode.dialect
    sent = episode.request
    if find_dialect(dialect) is None:
        yield f'can never be replayed: unknown dialect "{dialect}"{did_you_mean(dialect, discover())}'
        return
    call = parse_sent(dialect, sent)
    if call is None:
        yield f"can never be replayed: {dialect} has no {sent.method} {sent.path}; correct its method and path"
    elif call.operation != episode.operation:
        yield f'has the operation "{episode.operation}", but {sent.method} {sent.path} is {call.operation}'


@click.command(name="scrub")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@add_cassettes_flag("scrub", "allow_secrets")
def scrub_command(names: tuple[str, ...], dry_run: bool, **flags: Json) -> None:
    """Apply the settings `scrub` and `allow_secrets` to NAME, and show what changed.

    Each file is changed completely or not at all.

    \b
    mockserver cassette scrub chat --dry-run
    mockserver cassette scrub chat tools#2
    """
    folder = open_folder(flags)
    redact = make_redactor(folder.settings).redact_episode
    for cassette, number in [(folder.find(file), number) for file, number in map(parse_name, names)]:
        scrubbed = partial(_scrub, redact, number)
        episodes = cassette.load()
        check_number(cassette, number, len(episodes))
        pairs = zip(episodes, scrubbed(episodes), strict=True)
        changed = [(at, _list_changes(old, new)) for at, (old, new) in enumerate(pairs, 1) if old != new]
        if changed and not dry_run:
            cassette.rewrite(scrubbed)
        for at, parts in changed:
            click.echo(f"{cassette.path}#{at}: {', '.join(parts)}")
        click.echo(f"{cassette.path}: {count_noun(len(changed), 'episode')} {'to scrub' if dry_run else 'scrubbed'}")


def _scrub(
    redact: Callable[[Episode], Episode], number: int | None, episodes: tuple[Episode, ...]
) -> tuple[Episode, ...]:
    pairs = ((old, redact(old) if number in (None, at) else old) for at, old in enumerate(episodes, 1))
    return tuple(old if old == new else new for old, new in pairs)


def _list_changes(old: Episode, new: Episode) -> list[str]:
    parts = {
        "path": (old.request.path, new.request.path),
        "query": (old.request.query, new.request.query),
        "request headers": (old.request.headers, new.request.headers),
        "request body": (old.request.body, new.request.body),
        "answer headers": (old.reply.headers, new.reply.headers),
        "answer body": (old.reply.bytes, new.reply.bytes),
    }
    return [name for name, (before, after) in parts.items() if before != after] or ["model"]


def _parse_numbers(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return episode numbers, given one by one (3) or as ranges (2-5)."""
    found = [_NUMBERS.fullmatch(text) for text in texts]
    for text, match in zip(texts, found, strict=True):
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise click.BadParameter(f"{show_value(text, 40)} is not an episode number; write 3, or 2-5")
    return tuple(number for match in found if match for number in range(int(match[1]), int(match[2] or match[1]) + 1))


@click.command(name="prune")
@click.argument("name", metavar="NAME[#N]")
@click.option("--number", "numbers", callback=_parse_numbers, multiple=True, help="The episodes to remove: 3, or 2-5.")
@click.option("--older", callback=parse_age, metavar="90d", help="Remove episodes older than this.")
@click.option(
    "--unplayed", metavar="URL|FILE", help="Remove episodes that a server has not used: its URL, or its saved calls."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@add_cassettes_flag("control_token")
def prune_command(
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
    folder = open_folder(flags)
    cassette = folder.find(file)
    source = cassette.path.relative_to(folder.path).as_posix()
    played = None if unplayed is None else find_played(unplayed, folder)
    now = wall()

    def is_selected(number: int, episode: Episode) -> bool:
        old = older is not None and bool(episode.at) and now - episode.at > older
        return number in numbers or old or (played is not None and f"{source}#{number}" not in played)

    def keep(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
        return tuple(episode for at, episode in enumerate(episodes, 1) if not is_selected(at, episode))

    episodes = cassette.load()
    check_number(cassette, max(numbers, default=None), len(episodes))
    removed = [(at, episode) for at, episode in enumerate(episodes, 1) if is_selected(at, episode)]
    if removed and not dry_run:
        cassette.rewrite(keep)
    for at, episode in removed:
        click.echo(summarize_episode(f"{source}#{at}", episode))
    done = "would be removed" if dry_run else "removed"
    click.echo(f"{cassette.path}: {count_noun(len(removed), 'episode')} {done}, {len(episodes) - len(removed)} left")


_NUMBERS = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?")
