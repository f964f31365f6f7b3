"""`mockserver cassette rules`, `import` and `export`: cassettes to and from other formats."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

import click
from msgspec.structs import replace

from mockserver import __version__
from mockserver.cassettes.addresses import ADDRESSES, DialectRoutes
from mockserver.cassettes.convert import Imported, har, import_file
from mockserver.cassettes.parse_response import ParsedChoice, ParsedResponse, parse_response
from mockserver.cassettes.store import CassetteFile
from mockserver.cassettes.to_rules import READ, RecordedCall, RuleDraft, make_rules, rules_file
from mockserver.cli.cassette.episodes import line
from mockserver.cli.cassette.folder import Folder, cassettes_flag, folder, leaks, read_file, redactor, write_output
from mockserver.config.errors import CassetteError, ConfigError, Mistake, MockserverError
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.episode import SUFFIX, Episode, header_value
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.text import plural
from mockserver.dialects import discover
from mockserver.engine.answer import singles
from mockserver.rules.match.fields import Field, find
from mockserver.server.cassette_store import parse_episode
from mockserver.server.routes import operation_at, places
from mockserver.server.snapshot import decoded
from mockserver.server.sources import compiled

MAX_DECODED = 100_000_000  # bytes of a body without its content codings


@click.command(name="export")
@click.argument("name", metavar="NAME[#N]")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@cassettes_flag()
def export_command(name: str, output: Path | None, force: bool, **flags: Json) -> None:
    """Export NAME, or one of its episodes, as HAR 1.2.

    \b
    mockserver cassette export chat --output chat.har
    """
    where = folder(flags)
    episodes = list(where.episodes(name).values())
    own = {
        mount: address for dialect, address in where.settings.upstream.items() for mount in discover()[dialect].mounts
    }
    text = json.dumps(har(episodes, __version__, {**ADDRESSES, **own}), indent=2, ensure_ascii=False) + "\n"
    write_output(text, output, plural(len(episodes), "episode"), force=force)


@click.command(name="import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--into", metavar="NAME", help="The cassette to import into [named after each file].")
@click.option("--dialect", help="The dialect of the recordings [found by host].")
@cassettes_flag("scrub", "allow_secrets")
def import_command(files: tuple[str, ...], into: str | None, dialect: str | None, **flags: Json) -> None:
    """Import each FILE (`-` reads standard input): a vcrpy cassette (YAML or JSON) or a HAR file.

    Secrets are scrubbed. Calls that cannot be imported are reported and skipped; the exit code is then 1, or 2 if
    nothing was imported.

    \b
    mockserver cassette import tests/cassettes/test_chat.yaml
    mockserver cassette import one.har two.har --into chat
    """
    if dialect is not None and dialect not in discover():
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover())}')
    where, routes = folder(flags), dialect_routes()
    total = skipped = 0
    for file in files:
        try:
            found = import_file(read_file(file), file, routes, dialect)
        except MockserverError as error:
            skipped += 1
            click.echo(f"mockserver: {error.mistakes[0]}", err=True)
            continue
        skipped += _report_skipped(found)
        taken, refused = _append(found, where.cassette(into or _name(file)), where, file)
        total, skipped = total + taken, skipped + refused
    sys.exit(0 if not skipped else 1 if total else 2)


def _append(found: Imported, cassette: CassetteFile, where: Folder, file: str) -> tuple[int, int]:
    """Append episodes to a cassette; return how many it has of them now, and how many were refused."""
    redact, taken, refused = redactor(where.settings), 0, 0
    existing = set(map(_identity, cassette.load())) if cassette.exists else set()
    for place, episode in found.episodes:
        try:
            clean = redact.episode(episode)
            if _identity(clean) in existing:
                continue
            why = leaks(clean, where.settings)
            if not why:
                cassette.append(clean)
                taken += 1
        except CassetteError as error:
            why = [str(error.mistakes[0])]
        if why:
            refused += 1
            _skip(f"{place}: {'; '.join(why)}")
    again = len(found.episodes) - taken - refused
    if taken or again:
        known = f"; {again} already there" if again else ""
        click.echo(f"{cassette.path}: {plural(taken, 'episode')} from {file}{known}")
    else:
        click.echo(f"{file}: no episode for {cassette.path}", err=True)
    return taken + again, refused


def _skip(words: str) -> None:
    click.echo(line(f"skipped {words}", 400), err=True)


def _identity(episode: Episode) -> tuple[object, ...]:
    """What two recordings of one interaction share, whenever they were made."""
    sent, reply = episode.request, episode.reply
    return sent.method, sent.path, sent.query, sent.body, reply.status, reply.bytes


def _report_skipped(found: Imported) -> int:
    """Report what was skipped; return how much of it counts. Unknown hosts count only if nothing else was found."""
    for where, why in found.skipped:
        _skip(f"{where}: {why}")
    if hosts := found.unknown_hosts:
        shown = ", ".join(line(host, 60) for host in list(hosts)[:5]) + ", …" * (len(hosts) > 5)
        _skip(f"{plural(sum(hosts.values()), 'request')} to unknown hosts ({shown}); set their dialect with --dialect")
    return len(found.skipped) + (0 if found.episodes else len(hosts))


def _name(file: str) -> str:
    if file == "-":
        raise CassetteError("standard input needs a cassette name: add --into NAME")
    name = PurePath(Path(file).name)
    stem = name.stem if name.suffix in (SUFFIX, ".yml", ".json", ".har") else name.name
    return stem or "imported"


def dialect_routes() -> DialectRoutes:
    served = places(discover(), "openai")
    mounts = {name: dialect.mounts for name, dialect in discover().items()}
    return DialectRoutes(mounts, lambda method, path: operation_at(method, path, served), _decoded)


def _decoded(headers: Headers, body: bytes) -> bytes:
    raw = tuple((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers)
    try:
        return decoded(HttpRequest("POST", "/", headers=raw, body=body), MAX_DECODED).body
    except Failure as failure:
        raise ValueError(str(failure).replace("request ", "")) from None


@click.command(name="rules")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@cassettes_flag()
def rules_command(names: tuple[str, ...], output: Path | None, force: bool, **flags: Json) -> None:
    """Write rules that answer as the episodes do.

    Equal answers become one rule. Differences between requests become its conditions, or a pattern and a template if
    the answer repeats them. Episodes that no rule can express are reported on stderr; keep the cassette for those.

    \b
    mockserver cassette rules chat
    mockserver cassette rules chat#1 chat#4 --output rules.yaml
    """
    where, calls, refused = folder(flags), list[RecordedCall](), list[str]()
    for name in names:
        for source, episode in where.episodes(name).items():
            found = list(recorded_calls(episode, source))
            calls += found
            if not found:
                refused.append(f"{source}: {episode.dialect} refuses its request")
    made, skipped = make_rules(calls)
    loadable, broken = _loadable(made)
    for words in (*refused, *(f"{source}: {why}" for source, why in skipped), *broken):
        _skip(words)
    if not loadable:
        raise CassetteError(f"no episode of {', '.join(names)} can become a rule")
    write_output(
        rules_file(loadable),
        output,
        f"{plural(len(loadable), 'rule')} from {plural(len(calls), 'episode')}",
        force=force,
    )


def _loadable(made: Sequence[RuleDraft]) -> tuple[Sequence[RuleDraft], Sequence[str]]:
    """The rules that a server loads, and what is wrong with the others: a recorded tool may have any name."""
    if not made or _mistake(made) is None:
        return made, ()
    judged = [(rule, _mistake([rule])) for rule in made]
    wrong = [f"{', '.join(rule.sources)}: {mistake.message}" for rule, mistake in judged if mistake is not None]
    return [rule for rule, mistake in judged if mistake is None], wrong


def _mistake(made: Sequence[RuleDraft]) -> Mistake | None:
    try:
        compiled((read(rules_file(made), "rules.yaml"),), None)
    except MockserverError as error:
        return error.mistakes[0]
    return None


def recorded_calls(episode: Episode, source: str) -> Iterator[RecordedCall]:
    """The calls to make rules from, one for each prompt; none if the dialect would refuse the request."""
    call = parse_episode(episode)
    if call is None or call.sent is not None:
        return
    response = parse_response(episode.reply, episode.format)
    retry_after = header_value(episode.reply.headers, "retry-after")
    if episode.operation != "completions":
        yield RecordedCall(source, episode.dialect, _fields(call), response, retry_after)
        return
    for at, single in enumerate(singles(call)):
        yield RecordedCall(source, episode.dialect, _fields(single), _of_prompt(response, at, call), retry_after)


def _of_prompt(response: ParsedResponse, at: int, call: Call) -> ParsedResponse:
    own = response.choices[at * call.options.n : (at + 1) * call.options.n]
    if call.options.echo:
        own = tuple(_without_echo(choice, call.prompts[at].text) for choice in own)
    return replace(response, choices=own)


def _without_echo(choice: ParsedChoice, prompt: str) -> ParsedChoice:

    def without(text: str) -> str:
        return next((text[len(prompt) - at :] for at in range(len(prompt)) if text.startswith(prompt[at:])), text)

    return replace(choice, parts=tuple(replace(part, text=without(part.text)) for part in choice.parts))


def _fields(call: Call) -> Mapping[str, Json]:
    found = {name: _read(name, call) for name in READ}
    found |= {f"param.{name}": value for name, value in call.body.items() if name and "." not in name}
    return {name: value for name, value in found.items() if value is not None}


def _read(name: str, call: Call) -> Json:
    family, _, member = name.partition(".")
    field = find(family)
    if isinstance(field, Field) and member:
        field = field.members[member]
    value = field.read(call) if isinstance(field, Field) else None
    return list(value) if isinstance(value, tuple) else value
