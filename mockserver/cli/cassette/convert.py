"""`mockserver cassette rules` and `export`: cassettes to other formats. What other tools need to import is here too."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from mockserver import __version__
from mockserver.cassettes.addresses import ADDRESSES, DialectRoutes
from mockserver.cassettes.convert import make_har
from mockserver.cassettes.parse_response import ParsedChoice, ParsedResponse, parse_response
from mockserver.cassettes.to_rules import READ, RecordedCall, RuleDraft, make_rules, write_rules_file
from mockserver.cli.cassette.episodes import shorten_line
from mockserver.cli.cassette.folder import add_cassettes_flag, open_folder, write_output
from mockserver.config.errors import CassetteError, Mistake, MockserverError
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.core.episode import Episode, header_value
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.text import plural
from mockserver.dialects import discover
from mockserver.engine.answer import split_prompts
from mockserver.rules.match.fields import Field, find_field
from mockserver.server.cassette_store import parse_episode
from mockserver.server.routes import operation_at, places
from mockserver.server.snapshot import decode_body
from mockserver.server.sources import compile_rules

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
        mount: address for dialect, address in folder.settings.upstream.items() for mount in discover()[dialect].mounts
    }
    text = json.dumps(make_har(episodes, __version__, {**ADDRESSES, **own}), indent=2, ensure_ascii=False) + "\n"
    write_output(text, output, plural(len(episodes), "episode"), force=force)


def make_dialect_routes() -> DialectRoutes:
    served = places(discover(), "openai")
    mounts = {name: dialect.mounts for name, dialect in discover().items()}
    return DialectRoutes(mounts, lambda method, path: operation_at(method, path, served), _decode)


def _decode(headers: Headers, body: bytes) -> bytes:
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
    folder, calls, refused = open_folder(flags), list[RecordedCall](), list[str]()
    for name in names:
        for source, episode in folder.load(name).items():
            found = list(recorded_calls(episode, source))
            calls += found
            if not found:
                refused.append(f"{source}: {episode.dialect} refuses its request")
    made, skipped = make_rules(calls)
    loadable, broken = _split_loadable(made)
    for words in (*refused, *(f"{source}: {why}" for source, why in skipped), *broken):
        click.echo(shorten_line(f"skipped {words}", 400), err=True)
    if not loadable:
        raise CassetteError(f"no episode of {', '.join(names)} can become a rule")
    write_output(
        write_rules_file(loadable),
        output,
        f"{plural(len(loadable), 'rule')} from {plural(len(calls), 'episode')}",
        force=force,
    )


def _split_loadable(made: Sequence[RuleDraft]) -> tuple[Sequence[RuleDraft], Sequence[str]]:
    """Return the rules that a server loads, and what is wrong with the others: a recorded tool may have any name."""
    if not made or _find_mistake(made) is None:
        return made, ()
    judged = [(rule, _find_mistake([rule])) for rule in made]
    wrong = [f"{', '.join(rule.sources)}: {mistake.message}" for rule, mistake in judged if mistake is not None]
    return [rule for rule, mistake in judged if mistake is None], wrong


def _find_mistake(made: Sequence[RuleDraft]) -> Mistake | None:
    try:
        compile_rules((read(write_rules_file(made), "rules.yaml"),), None)
    except MockserverError as error:
        return error.mistakes[0]
    return None


def recorded_calls(episode: Episode, source: str) -> Iterator[RecordedCall]:
    """Yield the calls to make rules from, one for each prompt; none if the dialect would refuse the request."""
    call = parse_episode(episode)
    if call is None or call.sent is not None:
        return
    response = parse_response(episode.reply, episode.format)
    retry_after = header_value(episode.reply.headers, "retry-after")
    if episode.operation != "completions":
        yield RecordedCall(source, episode.dialect, _read_fields(call), response, retry_after)
        return
    for at, single in enumerate(split_prompts(call)):
        yield RecordedCall(
            source, episode.dialect, _read_fields(single), _select_prompt(response, at, call), retry_after
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
