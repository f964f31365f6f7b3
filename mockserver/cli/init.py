"""`mockserver init`: a rules.yaml to start from."""

from importlib.resources import files
from pathlib import Path

import click

from mockserver.config.errors import ConfigError


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("rules.yaml"))
def command(path: Path) -> None:
    """Write a commented rules file to PATH (default: rules.yaml), unless it exists."""
    starter = files("mockserver.cli").joinpath("starter.yaml").read_bytes()
    try:
        with path.open("xb") as file:
            file.write(starter)
    except FileExistsError as error:
        raise ConfigError(f"{path} exists already; choose another name: mockserver init other.yaml") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    click.echo(f"wrote {path}; try it: mockserver serve {path}")
