"""`mockserver explain`: which rule answers a request, and why each other does not."""

from pathlib import Path

import click

from mockserver.cli.options import rules_argument, setting_flags, sources, text_of
from mockserver.cli.request import chat_path, parsed, planned, put, read_request
from mockserver.core.call import Json
from mockserver.engine.nearest import lines
from mockserver.server.live import start


@click.command()
@click.argument("request_file", metavar="REQUEST.json", type=str)
@rules_argument
@click.option("--path", default=None, metavar="PATH", help="Where the request goes [the chat of the dialect].")
@setting_flags("dialect", "unmatched")
def command(request_file: str, rules: tuple[Path, ...], path: str | None, **flags: Json) -> None:
    """Explain how RULES (rules.yaml of this folder) treat REQUEST.json (`-` reads standard input).

    The file holds the body of a request, or {method, path, headers, body}. Counters stand as for a first call.
    """
    live = start(sources(rules, flags))
    described = read_request(text_of(request_file), request_file, path or chat_path(live.settings.dialect))
    _, operation, http = put(described, live)
    call = parsed(operation, http, live)
    click.echo(f"answered by: {planned(call, live).source}")
    for rule in live.engine.rules:
        held = rule.when.holds(call) is not None
        click.echo(f'\n{rule.where} "{rule.name}" {"holds" if held else "does not hold"}')
        for line in lines(rule.when.findings(call)):
            click.echo(f"  {line}")
