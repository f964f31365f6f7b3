"""`mockserver serve`: the dev server."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from mockserver.cli.options import rules_argument, setting_flags, sources
from mockserver.core.call import Json
from mockserver.core.exchange import Exchange
from mockserver.dialects import discover
from mockserver.server.live import Live, Sources, start
from mockserver.server.routes import bare
from mockserver.settings import Settings
from mockserver.state.journal import Journal


@click.command()
@rules_argument
@setting_flags(*Settings.model_fields)
def command(rules: tuple[Path, ...], **flags: Json) -> None:
    """Serve RULES (rules.yaml of this folder, if there is one) until Ctrl-C.

    Every flag has an environment variable (MOCKSERVER_PORT) and a key under `settings:` in the rules file.
    """
    from mockserver.server.run import bind, serve  # uvicorn is slow to import, and bad rules should be told at once

    given = sources(rules, flags)
    live = start(given)
    live.journal = Journal(on_close=LOGS[live.settings.log])
    logging.basicConfig(format="%(message)s")
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
    return "\n".join(
        [
            f"mockserver listens on {address}  ({len(live.engine.rules)} rules from {files};"
            f" unmatched: {live.settings.unmatched})",
            *bases,
        ]
    )


def _text(exchange: Exchange) -> None:
    request = f"{exchange.method} {ascii(exchange.path)[1:-1]}"
    source = exchange.source.encode("ascii", "backslashreplace").decode()
    took = f"{exchange.elapsed * 1000:.1f} ms"
    click.echo(f"{exchange.seq} {request} -> {exchange.status} {source}, {took}, {exchange.ended}")


def _json(exchange: Exchange) -> None:
    click.echo(json.dumps(asdict(exchange)))


LOGS: dict[str, Callable[[Exchange], None] | None] = {"none": None, "text": _text, "json": _json}
