"""What the commands share: the folder of cassettes, their names, the settings that concern them."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copymode

import click

from mockserver.cassettes.redaction.leaks import leaks as found_in
from mockserver.cassettes.redaction.redact import Scrubber
from mockserver.cassettes.store import SUFFIX, CassetteFile, absent, named, names
from mockserver.cli.options import Command, rules_option, setting_flags, sources
from mockserver.config.errors import CassetteError, ConfigError
from mockserver.config.settings import Settings, assemble
from mockserver.config.types import seconds
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.text import plural, printable
from mockserver.dialects import discover
from mockserver.server.recorder import keeping


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of cassettes."""

    settings: Settings

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.settings.cassettes)

    def names(self) -> tuple[str, ...]:
        """The cassettes in it, in alphabetical order. Raises CassetteError."""
        if not self.path.is_dir():
            raise CassetteError(f"there is no folder {self.path}; {_NEXT}")
        try:
            os.scandir(self.path).close()
        except OSError as error:
            raise CassetteError(f"{self.path}: cannot be read: {error.strerror}") from None
        return names(self.path)

    def cassette(self, name: str) -> CassetteFile:
        """The cassette of a name, whether it is there or not; its path is as good. Raises CassetteError."""
        path, plain = named(self.path, name), name.removeprefix(f"{self.path}/")
        return CassetteFile(path if plain == name or path.exists() else named(self.path, plain))

    def found(self, name: str) -> CassetteFile:
        """The same of one that is there. Raises CassetteError."""
        cassette = self.cassette(name)
        if not cassette.exists:
            told = absent(self.path, name)
            raise CassetteError(told if names(self.path) else f"{told}; {_NEXT}")
        return cassette

    def source(self, cassette: CassetteFile, number: int) -> str:
        """How an episode is called: `chat.yaml#3`."""
        return f"{cassette.path.relative_to(self.path)}#{number}"


def cassettes_flag(*more: str) -> Callable[[Command], Command]:
    """The flag --cassettes, those of other settings, and where all settings come from."""

    def add(command: Command) -> Command:
        return rules_option(setting_flags("cassettes", *more)(command))

    return add


def folder(flags: dict[str, Json]) -> Folder:
    """The folder that flags, environment and rules files say. Raises MockserverError."""
    given = sources(flags["rules"], {name: flags[name] for name in flags if name != "rules"})
    return Folder(assemble(given.flags, given.environ, given.documents(), dialects=discover()))


def picked(text: str) -> tuple[str, int | None]:
    """A name, and the number of an episode where one follows it. Raises CassetteError."""
    name, sign, number = text.rpartition("#")
    if not sign:
        return text.removesuffix(SUFFIX), None
    if not _NUMBER.fullmatch(number):
        raise CassetteError(f"{printable(text, 80)}: the number of an episode stands behind #, from 1 on")
    return name.removesuffix(SUFFIX), int(number)


def numbered(cassette: CassetteFile, number: int | None) -> list[tuple[int, Episode]]:
    """The episodes with their numbers; one of them alone, where it is asked for. Raises CassetteError."""
    episodes = cassette.load()
    check_number(cassette, number, len(episodes))
    return [(at, one) for at, one in enumerate(episodes, 1) if number in (None, at)]


def check_number(cassette: CassetteFile, number: int | None, count: int) -> None:
    """Refuse the number of an episode that is not there. Raises CassetteError."""
    if number is not None and number > count:
        raise CassetteError(f"{cassette.path} has {plural(count, 'episode')}; there is no #{number}")


def age(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Seconds of an age such as 90d, 2w or 12h."""
    if text is None:
        return None
    found = _DAYS.fullmatch(text.strip())
    try:
        return float(found[1]) * _UNITS[found[2]] if found else seconds(text)
    except ValueError:
        raise click.BadParameter(f"{printable(text, 40)} is no age; write 90d, 2w or 12h") from None


def scrubber(settings: Settings) -> Scrubber:
    """What takes secrets out of episodes, by the settings and the environment."""
    return keeping(settings, os.environ).scrubber


def leaks(episode: Episode, settings: Settings) -> Sequence[str]:
    """What looks like a secret in an episode, in words."""
    return [str(leak) for leak in found_in(episode, settings.allow_secrets)]


def read_file(path: str) -> bytes:
    """The bytes of a file, `-` being standard input. Raises ConfigError."""
    try:
        with click.open_file(path, "rb") as file:
            data: bytes = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST:
        raise ConfigError(f"{path}: is larger than {LARGEST // 1_000_000} MB: cut it into smaller files")
    return data


def write_file(path: Path, text: str) -> None:
    """A file for its owner's eyes, as it holds what was recorded; written as a whole or not. Raises ConfigError."""
    beside = path.resolve().with_name(f".{path.name}.new")
    try:
        if path.exists() and not path.is_file():  # a pipe, a device
            path.write_text(text, encoding="utf-8")
            return
        with open(beside, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(text)
        if path.exists():
            copymode(path, beside)
        os.replace(beside, path.resolve())
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error


def put_out(text: str, output: Path | None, told: str, *, force: bool) -> None:
    """A text on standard output, or in a file; what is told of it goes to stderr. Raises ConfigError."""
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists() and not force:
        raise ConfigError(f"{output} is there already; say --force to write over it")
    write_file(output, text)
    click.echo(f"{output}: {told}", err=True)


_NEXT = "record something with --record once, import it, or say --cassettes FOLDER"
LARGEST = 200_000_000  # bytes of a file that is imported
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_DAYS = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([dw])")
_UNITS = {"d": 86_400, "w": 7 * 86_400}
