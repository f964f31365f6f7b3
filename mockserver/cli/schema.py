"""`mockserver schema`: the JSON Schema of rules files."""

import json
from collections.abc import Mapping

import click

from mockserver.config.settings import settings_schema
from mockserver.core.json import Json
from mockserver.delivery.faults import FAULTS
from mockserver.rules.json_schema import rules_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of rules files: `mockserver schema > rules.schema.json`."""
    click.echo(json.dumps(_whole(), indent=2))


def _whole() -> Mapping[str, Json]:
    """The schema of rules with that of settings in its place."""
    rules, settings = rules_schema(FAULTS), settings_schema()
    definitions = {**rules["$defs"], **settings.pop("$defs", {})}
    place = {"anyOf": [settings, {"type": "null"}]}
    return {**rules, "properties": {**rules["properties"], "settings": place}, "$defs": definitions}
