"""`mockserver cassette export`: a cassette as HAR, for browsers' tools and other programs."""

import json
from pathlib import Path

import click

from mockserver import __version__
from mockserver.cassettes.convert.exports import ADDRESSES, har
from mockserver.cli.cassette.folder import cassettes_flag, folder, numbered, picked, put_out
from mockserver.core.json import Json
from mockserver.core.text import plural
from mockserver.dialects import discover


@click.command(name="export")
@click.argument("name", metavar="NAME[#N]")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@cassettes_flag()
def command(name: str, output: Path | None, force: bool, **flags: Json) -> None:
    """Export NAME, or one of its episodes, as HAR 1.2.

    \b
    mockserver cassette export chat --output chat.har
    """
    where = folder(flags)
    file, number = picked(name)
    episodes = [episode for _, episode in numbered(where.found(file), number)]
    own = {
        mount: address for dialect, address in where.settings.upstream.items() for mount in discover()[dialect].mounts
    }
    text = json.dumps(har(episodes, __version__, {**ADDRESSES, **own}), indent=2, ensure_ascii=False) + "\n"
    put_out(text, output, plural(len(episodes), "episode"), force=force)
