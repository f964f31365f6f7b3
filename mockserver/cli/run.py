"""`mockserver run -- CMD`: a program with a server of its own, to which the clients in it come by themselves."""

import os
import sys
from pathlib import Path

import click

from mockserver.cli.child import run_child
from mockserver.cli.log import listen, log
from mockserver.cli.options import rules_option, setting_flags, sources
from mockserver.cli.recap import Recap
from mockserver.cli.serve import warned
from mockserver.config.settings import Settings
from mockserver.core.json import Json
from mockserver.server.live import start

_OWN = {"host": "127.0.0.1", "port": 0}  # wherever the files want a server to listen: theirs may be running already


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("program", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@rules_option
@setting_flags(*Settings.model_fields)
def command(program: tuple[str, ...], rules: tuple[Path, ...], **flags: Json) -> None:
    """Run CMD against a server of its own, then report its calls. The exit code is that of CMD.

    The server listens on a free local port. Variables that clients read (OPENAI_BASE_URL, ...) point to it. The report
    goes to stderr.

    \b
    mockserver run -- pytest
    mockserver run --record once --cassette chat --upstream openai=https://api.openai.com/v1 -- python app.py
    """
    from mockserver.server.run import (
        Running,  # uvicorn is slow to import, and bad rules should be told at once
        environment,
    )

    given = sources(rules, {**_OWN, **{name: value for name, value in flags.items() if value is not None}})
    live = start(given)
    recap = Recap(live, live.player.cassettes.sizes)
    shown = log(live.settings.log, err=True)
    live.journal.on_close = recap.note if shown is None else recap.before(shown)
    if live.keep is not None:
        live.keep = recap.counting(live.keep)
    listen()
    news = list[str]()  # of files that change meanwhile; the last says how things stand
    with Running(live, given, say=news.append) as running:
        for line in warned(live):
            _say(line)
        code = run_child(program, {**os.environ, **environment(running.address, live.settings, os.environ)})
    for line in (*news[-1:], *recap.report()):
        _say(line)
    sys.exit(code)


def _say(text: str) -> None:
    click.echo(text, err=True)
