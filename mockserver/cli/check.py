"""`mockserver check`: mistakes and doubts in rules files."""

import sys
from pathlib import Path

import click

from mockserver.cli.options import rules_argument, sources
from mockserver.config.errors import MockserverError
from mockserver.core.text import plural
from mockserver.rules.lint import review
from mockserver.server.live import start


@click.command()
@rules_argument
def command(rules: tuple[Path, ...]) -> None:
    """Check RULES (default: rules.yaml). The exit code is 2 if there is a mistake, else 0."""
    given = sources(rules, {})
    try:
        live = start(given)
    except MockserverError as error:
        for mistake in error.mistakes:
            click.echo(mistake.shown(), err=True)
        sys.exit(2)
    remarks = review(live.engine.rules)
    for remark in remarks:
        click.echo(f'{remark.rule.where}: rule "{remark.rule.name}" {remark.text}')
    files = ", ".join(map(str, given.files)) or "no rules file"
    click.echo(f"{files}: {plural(len(live.engine.rules), 'rule')}, no mistakes, {plural(len(remarks), 'remark')}")
