"""What the cassette commands share: the folder of cassettes, names and numbers, and which episodes were played."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from msgspec import Struct

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.cassette_names import describe_missing, find_path, list_names
from mockserver.cassettes.locked_file import replace_file
from mockserver.cassettes.redaction import detect
from mockserver.cassettes.redaction.redact import Redactor
from mockserver.cli.options import Command, add_setting_flags, find_sources, rules_option
from mockserver.config.errors import CassetteError, ConfigError, explain_file_error
from mockserver.config.layers import assemble
from mockserver.config.settings import Settings
from mockserver.config.types import parse_seconds
from mockserver.core.episode import SUFFIX, Episode
from mockserver.core.json import Json
from mockserver.core.text import count_noun, escape_line, join_to_line, show_value, truncate
from mockserver.dialects import discover_all
from mockserver.server.recording.recording_policy import RecordingPolicy


class CassetteFolder(Struct, frozen=True):
    """The cassettes of the settings' folder, by the names and paths that users type.

    Unlike the `CassetteStore` of a server, it keeps nothing: commands read episodes once, and parse no calls.
    """

    settings: Settings

    @property
    def path(self) -> Path:
        return Path(self.settings.cassettes)

    def list_names(self) -> tuple[str, ...]:
        if not self.path.is_dir():
            raise CassetteError(f"there is no folder {self.path}; {_NEXT}")
        try:
            os.scandir(self.path).close()
        except OSError as error:
            raise CassetteError(explain_file_error(self.path, "read", error)) from None
        return list_names(self.path)

    def get(self, name: str) -> CassetteFile:
        """Return the cassette of a name, or of a path into the folder; it may not exist yet. Raises CassetteError."""
        folder = Path(os.path.abspath(self.path))
        given = Path(os.path.abspath(name))
        is_path = given.is_relative_to(folder) and (
            Path(name).is_absolute() or not find_path(self.path, name.removeprefix("./")).exists()
        )
        return CassetteFile(find_path(self.path, given.relative_to(folder).as_posix() if is_path else name))

    def find(self, name: str) -> CassetteFile:
        """Return the cassette of a name or path. Raises CassetteError if it does not exist."""
        cassette = self.get(name)
        if not cassette.exists:
            words = describe_missing(self.path, name)
            raise CassetteError(words if list_names(self.path) else f"{words}; {_NEXT}")
        return cassette

    def load(self, name: str) -> dict[str, Episode]:
        """Return the episodes of a cassette, or one of them, by their names: `chat.yaml#3`. Raises CassetteError."""
        file, number = parse_name(name)
        cassette = self.find(file)
        episodes = cassette.load()
        source = cassette.path.relative_to(self.path).as_posix()
        check_number(cassette, number, len(episodes))
        return {f"{source}#{at}": episode for at, episode in enumerate(episodes, 1) if number in (None, at)}


def find_played(journal: str, folder: CassetteFolder) -> frozenset[str]:
    """Return the episodes that the server at a URL, or of saved calls, used: `chat.yaml#3`. Raises ConfigError."""
    online = journal.startswith(("http://", "https://"))
    text = _fetch(journal, folder.settings.control_token) if online else read_file(journal, _JOURNAL)
    try:
        found = json.loads(text)
        if "played" in found:
            return frozenset(found["played"].keys())
        return frozenset(
            str(call.get("recorded") or call["source"]).removeprefix("cassette ") for call in found["calls"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError(f"{journal}: not a journal: {_JOURNAL}") from None


def _fetch(address: str, token: str | None) -> Json:
    import httpx2

    headers = {} if token is None else {"x-mockserver-token": token}
    try:
        answer = httpx2.get(address.rstrip("/") + _PLAYED_PATH, headers=headers, timeout=_TIMEOUT, trust_env=False)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = _ERRNO.sub("", str(error))
        raise ConfigError(f"{address}: no server answers: {why}; start it, or check the address") from None
    if answer.status_code == 401:
        words = "its control API refuses this token" if token else "its control API needs a token"
        raise ConfigError(f"{address}: {words}; set --control-token or MOCKSERVER_CONTROL_TOKEN")
    if answer.status_code != 200:
        raise ConfigError(
            f"{address}: no journal there: {answer.status_code} {join_to_line(truncate(answer.text, 300))}"
        )
    return answer.content


def add_cassettes_flag(*more: str) -> Callable[[Command], Command]:
    """Add the flag --cassettes, those of other settings, and --rules."""
    return lambda command: rules_option(add_setting_flags("cassettes", *more)(command))


def open_folder(flags: dict[str, Json]) -> CassetteFolder:
    """Return the folder set by flags, environment and rules files. Raises MockserverError."""
    given = find_sources(flags["rules"], {name: flags[name] for name in flags if name != "rules"})
    return CassetteFolder(assemble(given.flags, given.environ, given.read_documents(), dialects=discover_all()))


class EpisodeName(NamedTuple):
    """The name of a cassette, without its suffix, and the number of an episode; None: all of them."""

    cassette: str
    number: int | None


def parse_name(text: str) -> EpisodeName:
    """Parse a name such as `chat` or `chat#3`. Raises CassetteError."""
    name, sign, number = text.rpartition("#")
    if not sign:
        return EpisodeName(text.removesuffix(SUFFIX), None)
    if not _NUMBER.fullmatch(number):
        raise CassetteError(f"{escape_line(text, 80)}: after # write the number of an episode, from 1 on")
    return EpisodeName(name.removesuffix(SUFFIX), int(number))


def check_number(cassette: CassetteFile, number: int | None, size: int) -> None:
    """Raise CassetteError for the number of an episode that does not exist."""
    if number is not None and number > size:
        raise CassetteError(f"{cassette.path} has {count_noun(size, 'episode')}; there is no #{number}")


def parse_age(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return the seconds of an age such as 90d, 2w or 12h."""
    if text is None:
        return None
    found = _DAYS.fullmatch(text.strip())
    try:
        return float(found[1]) * _UNITS[found[2]] if found else parse_seconds(text)
    except ValueError:
        raise click.BadParameter(f"{show_value(text, 40)} is not an age; write 90d, 2w or 12h") from None


def make_redactor(settings: Settings) -> Redactor:
    return RecordingPolicy(settings, os.environ).redactor


def list_leaks(episode: Episode, settings: Settings) -> Sequence[str]:
    return [str(leak) for leak in detect.find_leaks(episode, settings.allow_secrets)]


def read_file(path: str, missing: str = "check its path") -> bytes:
    """Return the bytes of a file, or of standard input for `-`. Raises ConfigError, which says what is `missing`."""
    try:
        with click.open_file(path, "rb") as file:
            data: bytes = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(explain_file_error(path, "read", error, missing=missing)) from error
    if len(data) > MAX_FILE:
        raise ConfigError(f"{path}: larger than {MAX_FILE // 1_000_000} MB: split it into smaller files")
    return data


def write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all, readable by its owner only, as recordings are. Raises ConfigError."""
    try:
        if path.exists() and not path.is_file():  # a pipe, a device
            path.write_text(text, encoding="utf-8")
        else:
            replace_file(path, text.encode())
    except OSError as error:
        raise ConfigError(explain_file_error(path, "written", error)) from error


def write_output(text: str, output: Path | None, summary: str, *, force: bool) -> None:
    """Write to standard output, or to a file with a summary on stderr. Raises ConfigError."""
    if output is None:
        click.echo(text, nl=False)
        return
    if output.is_dir():
        raise ConfigError(f"{output} is a folder; name a file in it")
    if output.exists() and not force:
        raise ConfigError(f"{output} already exists; use --force to overwrite it")
    write_file(output, text)
    click.echo(f"{output}: {summary}", err=True)


MAX_FILE = 200_000_000  # bytes of a file to import
_NEXT = "record something with --record once, import it, or set --cassettes FOLDER"
_PLAYED_PATH = "/__mockserver__/api/cassette?namespace=*"
_CALLS_PATH = "/__mockserver__/api/calls?namespace=*"
_JOURNAL = f"give a server's URL, or its saved {_CALLS_PATH}"
_TIMEOUT = 10  # seconds
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_DAYS = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([dw])")
_UNITS = {"d": 86_400, "w": 7 * 86_400}
