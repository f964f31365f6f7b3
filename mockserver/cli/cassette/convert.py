"""`mockserver cassette rules`, `export` and `import`: between cassettes, rules and the recordings of other tools."""

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath

import click
from msgspec import Struct
from msgspec.structs import replace

from mockserver import __version__
from mockserver.cassettes.addresses import ADDRESSES, DialectRoutes
from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.convert import Imported, SkippedExchange, import_file, make_har
from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.mcp_definition import RecordedMcpAnswer, define_servers, make_call_rules
from mockserver.cassettes.parsed_response import ParsedChoice, ParsedResponse
from mockserver.cassettes.to_rules import READ, RecordedCall, RuleDraft, make_rules, write_rules_file
from mockserver.cli.cassette.describe import shorten_line
from mockserver.cli.cassette.folder import (
    CassetteFolder,
    add_cassettes_flag,
    list_leaks,
    make_redactor,
    open_folder,
    read_file,
    write_output,
)
from mockserver.config.errors import CassetteError, ConfigError, Mistake, MockserverError
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.episode import SUFFIX, Episode, join_header
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.json import Json
from mockserver.core.mcp_messages import find_response
from mockserver.core.mcp_server import is_upstream_name
from mockserver.core.plan import Failure
from mockserver.core.text import align_columns, count_noun, limit_lines
from mockserver.dialects import discover_all
from mockserver.dialects._mcp import NAME as MCP
from mockserver.engine.answer import split_prompts
from mockserver.rules.match.fields import Field, find_field
from mockserver.server.recording.recorded_calls import parse_episode
from mockserver.server.routes import make_dialect_routes
from mockserver.server.snapshot import decode_body
from mockserver.server.sources import compile_rules
from mockserver.testing.setup import name_cassette

MAX_DECODED = 100_000_000  # bytes of a body without its content codings


@click.command(name="export")
@click.argument("name", metavar="NAME[#N]")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@add_cassettes_flag()
def export_command(name: str, output: Path | None, force: bool, **flags: Json) -> None:
    """Export NAME, or one of its episodes, as HAR 1.2.

    \b
    mockserver cassette export chat --output chat.har
    """
    folder = open_folder(flags)
    episodes = list(folder.load(name).values())
    own = {
        mount: address
        for name, address in folder.settings.upstream.items()
        for mount in ((f"/{name}",) if is_upstream_name(name) else discover_all(folder.settings.hosts)[name].mounts)
    }
    text = json.dumps(make_har(episodes, __version__, {**ADDRESSES, **own}), indent=2, ensure_ascii=False) + "\n"
    write_output(text, output, count_noun(len(episodes), "episode"), force=force)


def decode_recorded(headers: Headers, body: bytes) -> bytes:
    """Return a recorded body without its content codings. Raises ValueError if they cannot be undone."""
    raw = tuple((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers)
    try:
        return decode_body(HttpRequest("POST", "/", headers=raw, body=body), MAX_DECODED).body
    except Failure as failure:
        raise ValueError(str(failure).replace("request ", "")) from None


@click.command(name="rules")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@add_cassettes_flag()
def rules_command(names: tuple[str, ...], output: Path | None, force: bool, **flags: Json) -> None:
    """Write rules that answer as the episodes do.

    Equal answers become one rule. Differences between requests become its conditions, or a pattern and a template if
    the answer repeats them. Episodes that no rule can express are reported on stderr; keep the cassette for those.

    \b
    mockserver cassette rules chat
    mockserver cassette rules chat#1 chat#4 --output rules.yaml
    """
    folder = open_folder(flags)
    calls = list[RecordedCall]()
    refused = list[str]()
    answers: list[RecordedMcpAnswer] = []
    for name in names:
        for source, episode in folder.load(name).items():
            if episode.dialect == MCP:
                answers += read_mcp_answers(episode, source)
                continue
            found = list(read_recorded_calls(episode, source))
            calls += found
            if not found:
                refused.append(f"{source}: {episode.dialect} refuses its request")
    drafted = make_rules(calls)
    of_servers = make_call_rules(answers)
    servers = define_servers(answers)
    loadable, broken = _split_loadable([*of_servers.rules, *drafted.rules], servers)
    skipped = {call.source: call.why for call in (*drafted.skipped, *of_servers.skipped)}
    for words in (*refused, *(f"{source}: {why}" for source, why in skipped.items()), *broken):
        click.echo(shorten_line(f"skipped {words}", 400), err=True)
    if not loadable and not servers:
        raise CassetteError(f"no episode of {', '.join(names)} can become a rule")
    made = (f"{count_noun(len(servers), 'MCP server')} and " if servers else "") + count_noun(len(loadable), "rule")
    used = ({call.source for call in calls} | {answer.source for answer in answers}) - set(skipped)
    what = f"{made} from {count_noun(len(used), 'episode')}"
    write_output(write_rules_file(loadable, servers), output, what, force=force)


def read_mcp_answers(episode: Episode, source: str) -> Iterator[RecordedMcpAnswer]:
    """Yield what an MCP server answered, if it did."""
    call = parse_episode(episode)
    response = find_response(episode.reply)
    if call is not None and call.mcp is not None and response is not None:
        yield RecordedMcpAnswer(
            call.mcp.server, call.mcp.method, params=call.mcp.params, response=response, source=source
        )


def _split_loadable(
    made: Sequence[RuleDraft], servers: Mapping[str, Json]
) -> tuple[Sequence[RuleDraft], Sequence[str]]:
    """Return the rules that a server loads, and what is wrong with the others: a recorded tool may have any name."""
    if not made or _find_mistake(made, servers) is None:
        return made, ()
    judged = [(rule, _find_mistake([rule], servers)) for rule in made]
    wrong = [f"{', '.join(rule.sources)}: {mistake.message}" for rule, mistake in judged if mistake is not None]
    return [rule for rule, mistake in judged if mistake is None], wrong


def _find_mistake(made: Sequence[RuleDraft], servers: Mapping[str, Json]) -> Mistake | None:
    try:
        compile_rules((read(write_rules_file(made, servers), "rules.yaml"),), None)
    except MockserverError as error:
        return error.mistakes[0]
    return None


def read_recorded_calls(episode: Episode, source: str) -> Iterator[RecordedCall]:
    """Yield the calls to make rules from, one for each prompt; none if the dialect would refuse the request."""
    call = parse_episode(episode)
    if call is None or call.sent is not None:
        return
    response = parse_answer(episode)
    retry_after = join_header(episode.reply.headers, "retry-after")
    if episode.operation != "completions" or not call.prompts:
        yield RecordedCall(
            source, episode.dialect, fields=_read_fields(call), response=response, retry_after=retry_after
        )
        return
    for at, single in enumerate(split_prompts(call)):
        yield RecordedCall(
            source,
            episode.dialect,
            fields=_read_fields(single),
            response=_select_prompt(response, at, call),
            retry_after=retry_after,
        )


def _select_prompt(response: ParsedResponse, at: int, call: Call) -> ParsedResponse:
    own = response.choices[at * call.options.n : (at + 1) * call.options.n]
    if call.options.echo:
        own = tuple(_remove_echo(choice, call.prompts[at].text) for choice in own)
    return replace(response, choices=own)


def _remove_echo(choice: ParsedChoice, prompt: str) -> ParsedChoice:

    def remove(text: str) -> str:
        return next((text[len(prompt) - at :] for at in range(len(prompt)) if text.startswith(prompt[at:])), text)

    return replace(choice, parts=tuple(replace(part, text=remove(part.text)) for part in choice.parts))


def _read_fields(call: Call) -> Mapping[str, Json]:
    found = {name: _read_field(name, call) for name in READ}
    found |= {f"param.{name}": value for name, value in call.body.items() if name and "." not in name}
    return {name: value for name, value in found.items() if value is not None}


def _read_field(name: str, call: Call) -> Json:
    family, _, member = name.partition(".")
    field = find_field(family)
    if isinstance(field, Field) and member:
        field = field.members[member]
    value = field.read(call) if isinstance(field, Field) else None
    return list(value) if isinstance(value, tuple) else value


class ImportSource(Struct, frozen=True):
    """A file to import; `parts`: the folders below the one that was named, and its own name."""

    file: str
    parts: tuple[str, ...]


class FileReport(Struct):
    """What became of a file's calls."""

    source: ImportSource
    cassette: CassetteFile
    imported: int = 0
    known: int = 0  # in the cassette before
    skipped: list[SkippedExchange] = []
    unknown_hosts: Mapping[str, int] = {}
    failure: str = ""  # why nothing of the file could be read

    @property
    def found(self) -> int:
        return self.imported + self.known

    @property
    def left_out(self) -> int:
        return len(self.skipped) + sum(self.unknown_hosts.values()) + bool(self.failure)

    @property
    def failed(self) -> bool:
        """Whether the user has lost something; requests to unrelated hosts are common next to others."""
        return bool(self.skipped or self.failure or (self.unknown_hosts and not self.found))


@click.command(name="import")
@click.argument("files", metavar="FILE|FOLDER...", nargs=-1, required=True)
@click.option("--into", metavar="NAME", help="The cassette to import into [named after each file].")
@click.option("--dialect", help="The dialect of the recordings [found by host].")
@add_cassettes_flag("scrub", "allow_secrets")
def import_command(files: tuple[str, ...], into: str | None, dialect: str | None, **flags: Json) -> None:
    """Import each FILE, or all in FOLDER: recordings of vcrpy, langchain-tests, go-vcr or VCR for Ruby, or HAR files.

    They may be YAML or JSON, also packed with gzip; `-` reads standard input. Secrets are scrubbed. What cannot be
    imported is reported and skipped; the exit code is then 1, or 2 if nothing was imported.

    \b
    mockserver cassette import tests/cassettes/test_chat.yaml
    mockserver cassette import tests/cassettes
    mockserver cassette import one.har two.har --into chat
    """
    if dialect is not None and dialect not in discover_all():
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover_all())}')
    folder = open_folder(flags)
    routes = replace(make_dialect_routes(), decode=decode_recorded)
    sources = [source for file in files for source in _find_sources(file)]
    reports = [
        _import(source, folder.get(name), folder=folder, routes=routes, dialect=dialect)
        for source, name in zip(sources, _choose_names(sources, into), strict=True)
    ]
    if len(reports) == 1:
        _print_report(reports[0])
    else:
        _print_table(reports, folder.path)
    failed = any(report.failed for report in reports)
    sys.exit(0 if not failed else 1 if any(report.found for report in reports) else 2)


def _find_sources(file: str) -> Sequence[ImportSource]:
    """Return the file, or those in a folder that have the names of recordings. Raises ConfigError if there are none."""
    root = Path(file)
    if file == "-" or not root.is_dir():
        return [ImportSource(file, (root.name,))]
    paths = sorted(path for path in root.rglob("*") if path.name.endswith(_SUFFIXES) and path.is_file())
    sources = [ImportSource(str(path), path.relative_to(root).parts) for path in paths]
    seen = [source for source in sources if not any(part.startswith(".") for part in source.parts)]
    if not seen:
        raise ConfigError(f"{file}: this folder has no files that end in {', '.join(_SUFFIXES)}")
    return seen


def _choose_names(sources: Sequence[ImportSource], into: str | None) -> Sequence[str]:
    """Name a cassette for each file, as the pytest fixture names that of a test; equal ones get a hash of the path."""
    if into is not None:
        return [into] * len(sources)
    names = [name_cassette((*source.parts[:-1], _find_stem(source))) for source in sources]
    count = Counter(map(str.casefold, names))
    return [
        name if count[name.casefold()] == 1 else f"{name}~{sha256(_find_path(source).encode()).hexdigest()[:8]}"
        for source, name in zip(sources, names, strict=True)
    ]


def _find_path(source: ImportSource) -> str:
    """Return the path of a file from here, which is the same however it was typed."""
    return Path(os.path.relpath(source.file)).as_posix()


def _find_stem(source: ImportSource) -> str:
    if source.file == "-":
        raise CassetteError("standard input needs a cassette name: add --into NAME")
    name = source.parts[-1]
    return name.removesuffix(next((suffix for suffix in _SUFFIXES if name.endswith(suffix) and name != suffix), ""))


def _import(
    source: ImportSource, cassette: CassetteFile, *, folder: CassetteFolder, routes: DialectRoutes, dialect: str | None
) -> FileReport:
    report = FileReport(source, cassette)
    try:
        found = import_file(read_file(source.file), source.file, routes=routes, dialect=dialect)
    except MockserverError as error:
        report.failure = str(error.mistakes[0])
        return report
    report.skipped += found.skipped
    report.unknown_hosts = found.unknown_hosts
    _append(found, cassette, folder=folder, report=report)
    return report


def _append(found: Imported, cassette: CassetteFile, folder: CassetteFolder, report: FileReport) -> None:
    """Append the episodes that the cassette does not have yet, and that hold no secrets."""
    redact = make_redactor(folder.settings)
    existing = set(map(_identify, cassette.load())) if cassette.exists else set()
    for place, episode in found.episodes:
        try:
            clean = redact.redact_episode(_name_operation(episode))
            if _identify(clean) in existing:
                report.known += 1
                continue
            why = list_leaks(clean, folder.settings)
            if not why:
                cassette.append(clean)
                report.imported += 1
        except CassetteError as error:
            why = [str(error.mistakes[0])]
        if why:
            report.skipped.append(SkippedExchange(place, "; ".join(why)))


def _name_operation(episode: Episode) -> Episode:
    """Return the episode with the operation of its call: some paths serve several, such as Bedrock's `invoke`.

    Raises CassetteError if its dialect has no such path: what another one has at the same address.
    """
    call = parse_episode(episode)
    if call is None:
        raise CassetteError(f"{episode.dialect} has no {episode.request.method} {episode.request.path}")
    return replace(episode, operation=call.operation)


def _identify(episode: Episode) -> tuple[object, ...]:
    """Return what two recordings of one interaction share, whenever they were made."""
    sent = episode.request
    reply = episode.reply
    return sent.method, sent.path, sent.query, sent.body, reply.status, reply.bytes


def _describe_hosts(hosts: Mapping[str, int]) -> str:
    shown = ", ".join(shorten_line(host, 60) for host in list(hosts)[:5]) + ", …" * (len(hosts) > 5)
    return f"{count_noun(sum(hosts.values()), 'request')} to unknown hosts ({shown}); set their dialect with --dialect"


def _print_report(report: FileReport) -> None:
    if report.failure:
        click.echo(f"mockserver: {report.failure}", err=True)
        return
    for place, why in report.skipped:
        click.echo(shorten_line(f"skipped {place}: {why}", _LONGEST_REASON), err=True)
    if report.unknown_hosts:
        click.echo(shorten_line(f"skipped {_describe_hosts(report.unknown_hosts)}", _LONGEST_REASON), err=True)
    file = report.source.file
    path = report.cassette.path
    if report.found:
        known = f"; {report.known} already there" if report.known else ""
        click.echo(f"{path}: {count_noun(report.imported, 'episode')} from {file}{known}")
    else:
        click.echo(f"{file}: no episode for {path}", err=True)


def _print_table(reports: Sequence[FileReport], root: Path) -> None:
    rows = [("imported", "skipped", "file", "cassette", "why")]
    for report in reports:
        reasons = [shorten_line(reason, _LONGEST_REASON) for reason in _list_reasons(report)]
        first, *others = limit_lines(reasons, _MAX_REASONS) if reasons else ("",)
        name = report.cassette.path.relative_to(root).as_posix().removesuffix(SUFFIX) if report.found else "-"
        file = shorten_line(str(PurePath(*report.source.parts)), _LONGEST_REASON)
        rows.append((str(report.imported), str(report.left_out), file, name, first))
        rows += [("", "", "", "", reason) for reason in others]
    for row in align_columns(rows, right=(0, 1)):
        click.echo(row)
    imported = sum(report.imported for report in reports)
    left_out = sum(report.left_out for report in reports)
    click.echo(f"{count_noun(len(reports), 'file')}: {count_noun(imported, 'episode')} imported, {left_out} skipped")


def _list_reasons(report: FileReport) -> Iterator[str]:
    """Yield why something was left out: each reason once, after the places where it applies."""
    if report.failure:
        yield report.failure.removeprefix(report.source.file).lstrip(": ")
    places = defaultdict[str, list[str]](list)
    for place, why in report.skipped:
        places[why].append(place.rpartition(": ")[2])
    yield from (f"{', '.join(_shorten(where))}: {why}" for why, where in places.items())
    if report.unknown_hosts:
        yield _describe_hosts(report.unknown_hosts)
    if report.known:
        yield f"{report.known} already there"


def _shorten(places: Sequence[str]) -> Iterable[str]:
    """Return `interaction 2, 3, 7` for three interactions."""
    noun = places[0].partition(" ")[0]
    return (places[0], *(place.removeprefix(f"{noun} ") for place in places[1:]))


_SUFFIXES = (".yaml", ".yml", ".json", ".har", ".yaml.gz", ".yml.gz", ".json.gz", ".har.gz")
_LONGEST_REASON = 400  # characters
_MAX_REASONS = 5  # of one file
