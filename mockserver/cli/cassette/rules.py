"""`mockserver cassette rules`: rules that answer what was recorded, plain and streamed, and what is like it."""

from pathlib import Path

import click

from mockserver.cassettes.generalising import Asked, rules, written
from mockserver.cli.cassette.folder import cassettes_flag, folder, many, numbered, picked, write_file
from mockserver.cli.cassette.meaning import asked
from mockserver.cli.cassette.telling import line
from mockserver.core.errors import CassetteError, ConfigError
from mockserver.core.json_text import Json


@click.command(name="rules")
@click.argument("names", metavar="NAME[#N]...", nargs=-1, required=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@cassettes_flag()
def command(names: tuple[str, ...], output: Path | None, force: bool, **flags: Json) -> None:
    """Write the rules that episodes come to.

    Equal answers become one rule. What requests differ in becomes its conditions; where they differ in a span that the
    answer repeats, a pattern and a template. What no rule can say is told on stderr: keep the cassette for it.
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
    left = [*refused, *(f"{source}: {why}" for source, why in made.left)]
    for told in left:
        click.echo(f"left out {line(told)}", err=True)
    if not made.rules:
        raise CassetteError(f"no episode of {', '.join(names)} can be a rule")
    text = written(made.rules)
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists() and not force:
        raise ConfigError(f"{output} is there already; say --force to write over it")
    write_file(output, text)
    click.echo(f"{output}: {many(len(made.rules), 'rule')} from {many(len(found), 'episode')}", err=True)
