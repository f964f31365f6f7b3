"""`mockserver cassette show`: what was asked and what came, to read; or the very bytes."""

import click

from mockserver.cli.cassette.folder import cassettes_flag, folder, numbered, picked
from mockserver.cli.cassette.telling import whole
from mockserver.config.errors import CassetteError
from mockserver.core.json import Json
from mockserver.server.parse_recorded import heard


@click.command(name="show")
@click.argument("name", metavar="NAME[#N]")
@click.option("--raw", is_flag=True, help="Print the exact body of one episode's answer.")
@cassettes_flag()
def command(name: str, raw: bool, **flags: Json) -> None:  # click gives flags so
    """Show all episodes of NAME, or its episode N.

    \b
    mockserver cassette show chat
    mockserver cassette show chat#3 --raw > answer.json
    """
    where = folder(flags)
    file, number = picked(name)
    cassette = where.found(file)
    episodes = numbered(cassette, number)
    if raw:
        if len(episodes) != 1:
            raise CassetteError(f"{cassette.path} has {len(episodes)} episodes: say which one, as {file}#1")
        click.echo(episodes[0][1].reply.bytes, nl=False)
        return
    for place, (at, episode) in enumerate(episodes):
        if place:
            click.echo()
        for told in whole(where.source(cassette, at), episode, heard(episode)):
            click.echo(told)
