"""`mockserver explain`: which rule answers a request, and why each other does not."""

import asyncio
from pathlib import Path

import click

from mockserver.cli.options import rules_argument, setting_flags, sources, text_of
from mockserver.core.json import Json
from mockserver.server.control.requests import of_request
from mockserver.server.explain import explain_call, reach, read_request
from mockserver.server.live import start


@click.command()
@click.argument("request_file", metavar="REQUEST.json", type=str)
@rules_argument
@click.option("--path", default=None, metavar="PATH", help="The path of the request [depends on its body].")
@setting_flags("dialect", "unmatched", "cassette", "cassettes")
def command(request_file: str, rules: tuple[Path, ...], path: str | None, **flags: Json) -> None:
    """Show which of RULES (default: rules.yaml) answers REQUEST.json (`-` reads standard input).

    The file contains a request body, or {method, path, headers, body}. Without a path, a body with a `prompt` goes to
    completions, one with an `input` to responses, embeddings or moderations, any other to chat. Counters are as for a
    first call.
    """
    live = start(sources(rules, flags))
    described = read_request(text_of(request_file), request_file, live.settings.dialect, path)
    reached = reach(described, live.settings.dialect)
    call = reached.call(strict=live.settings.strict)
    click.echo(of_request(reached.http).text(asyncio.run(explain_call(live.engine, call)).text))
