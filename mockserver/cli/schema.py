"""`mockserver schema`: the JSON Schema of rules files."""

import json

import click

from mockserver.engine.spec.schema import rules_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of rules files: `mockserver schema > rules.schema.json`."""
    click.echo(json.dumps(rules_schema(), indent=2))
