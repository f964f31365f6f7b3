"""`mockserver cassette rules`: rules that answer what was recorded, plain and streamed, and what is like it."""

from collections.abc import Sequence
from pathlib import Path

import click

from mockserver.cassettes.convert.rules import Asked, Rule, rules, written
from mockserver.cli.cassette.folder import cassettes_flag, folder, numbered, picked, put_out
from mockserver.cli.cassette.meaning import asked
from mockserver.cli.cassette.telling import line
from mockserver.config.errors import CassetteError, Mistake, MockserverError
from mockserver.config.source import read
from mockserver.core.json import Json
from mockserver.core.text import plural
from mockserver.server.live import compiled


@click.command(name="rules")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@cassettes_flag()
def command(names: tuple[str, ...], output: Path | None, force: bool, **flags: Json) -> None:
    """Write rules that answer as the episodes do.

    Equal answers become one rule. Differences between requests become its conditions, or a pattern and a template if
    the answer repeats them. Episodes that no rule can express are reported on stderr; keep the cassette for those.

    \b
    mockserver cassette rules chat
    mockserver cassette rules chat#1 chat#4 --output rules.yaml
    """
    where, found, refused = folder(flags), list[Asked](), list[str]()
    for name in names:
        file, number = picked(name)
        cassette = where.found(file)
        for at, episode in numbered(cassette, number):
            source = where.source(cassette, at)
            said = list(asked(episode, source))
            found += said
            if not said:
                refused.append(f"{source}: its request is none that {episode.dialect} takes")
    made = rules(found)
    fit, unfit = _loadable(made.rules)
    for told in (*refused, *(f"{source}: {why}" for source, why in made.left), *unfit):
        click.echo(f"left out {line(told)}", err=True)
    if not fit:
        raise CassetteError(f"no episode of {', '.join(names)} can be a rule")
    told = f"{plural(len(fit), 'rule')} from {plural(len(found), 'episode')}"
    put_out(written(fit), output, told, force=force)


def _loadable(made: Sequence[Rule]) -> tuple[Sequence[Rule], Sequence[str]]:
    """The rules that a server takes, and what is wrong with the others: a tool may be called anything at all."""
    if not made or _mistake(made) is None:
        return made, ()
    judged = [(rule, _mistake([rule])) for rule in made]
    wrong = [f"{', '.join(rule.sources)}: {mistake.message}" for rule, mistake in judged if mistake is not None]
    return [rule for rule, mistake in judged if mistake is None], wrong


def _mistake(made: Sequence[Rule]) -> Mistake | None:
    try:
        compiled((read(written(made), "rules.yaml"),), None)
    except MockserverError as error:
        return error.mistakes[0]
    return None
