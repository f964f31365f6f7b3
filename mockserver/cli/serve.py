"""`mockserver serve`: the dev server."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from mockserver.cli.log import listen, log
from mockserver.cli.options import rules_argument, setting_flags, sources
from mockserver.config.settings import Settings
from mockserver.core.http import is_loopback
from mockserver.core.json import Json
from mockserver.core.text import plural
from mockserver.dialects import discover
from mockserver.server.cassette_store import file_of
from mockserver.server.live import Live, Sources, start
from mockserver.server.replay import CassetteChoice
from mockserver.server.routes import bare


@click.command()
@rules_argument
@setting_flags(*Settings.model_fields)
def command(rules: tuple[Path, ...], **flags: Json) -> None:
    """Start a server with RULES (default: rules.yaml, if it exists). Stop it with Ctrl-C.

    You can also set each option as an environment variable (MOCKSERVER_PORT) or under `settings:` in a rules file.
    """
    from mockserver.server.run import bind, serve  # uvicorn is slow to import, and bad rules should be told at once

    given = sources(rules, flags)
    live = start(given)
    live.journal.on_close = log(live.settings.log)
    listen()
    listener = bind(live.settings.host, live.settings.port)
    _say(banner(live, given, listener.getsockname()[1]))
    serve(live, given, listener, _say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def banner(live: Live, given: Sources, port: int) -> str:
    """Where the server listens, what it answers with, and the base URL of each dialect."""
    host = f"[{live.settings.host}]" if ":" in live.settings.host else live.settings.host
    files = ", ".join(map(str, given.files)) or "no rules file"
    address, spoken = f"http://{host}:{port}", live.settings.dialect
    bases = [f"  {name:<12} {address}{dialect.mounts[0]}" for name, dialect in discover().items()]
    bases.append(f"  {'':<12} {address}{bare(discover()[spoken].mounts[0])}  (speaks {spoken})")
    name = live.player.choice.name
    otherwise = f"unmatched: {live.settings.unmatched}" if name is None else f"then cassette {file_of(name)}"
    return "\n".join(
        [
            f"mockserver listens on {address}  ({len(live.engine.rules)} rules from {files}; {otherwise})",
            *_recording(live),
            *bases,
            *warned(live),
        ]
    )


def _recording(live: Live) -> Iterator[str]:
    """What the cassette holds, what is recorded into it, and who is asked."""
    choice, said = live.player.choice, list[str]()
    if choice.name is not None:
        library = live.player.cassettes.get(choice.name)
        count = 0 if library is None else library.size
        there = "not there yet" if not live.player.cassettes.exists(choice.name) else plural(count, "episode")
        said += [f"cassette {file_of(choice.name)}: {there}", f"record: {choice.record}"]
    if live.settings.upstream:
        said.append("upstream: " + ", ".join(f"{name}={url}" for name, url in live.settings.upstream.items()))
    if said:
        yield f"  {'; '.join(said)}"


def warned(live: Live) -> Iterator[str]:
    """What to know: of recording that cannot be, and where others can reach the server.

    It is the one place that says a token made at random.
    """
    settings = live.settings
    if settings.record != "none" and settings.cassette is None:
        yield f"  record is {settings.record}, but there is no cassette to record into; set --cassette NAME"
    elif live.player.choice.forwards and not settings.upstream:
        yield f"  record is {settings.record}, but there is no upstream to ask; set --upstream DIALECT=URL"
    if _records(live.player.choice) and not _is_writable(Path(settings.cassettes)):
        yield f"  record is {settings.record}, but {settings.cassettes} cannot be written; set --cassettes FOLDER"
    if is_loopback(settings.host):
        return
    whom = "anybody in the network" if settings.keys is None else "anybody in the network who has a key"
    yield f"  beyond this machine: {whom} can use it; --host 127.0.0.1 keeps it to this machine"
    if settings.control_token is None:
        yield f"  /__mockserver__ wants a token: authorization: Bearer {live.control_token}"


def _records(choice: CassetteChoice) -> bool:
    """Whether anything may be recorded: with `once`, nothing is where something is there."""
    return choice.name is not None and (choice.forwards or choice.record == "new_episodes")


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which may have to be made itself."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
