"""Names, numbers and ages as the commands take them."""

from pathlib import Path

import click
import pytest

from mockserver.cli.cassette.folder import age, parse_name, read_file, write_file
from mockserver.config.errors import CassetteError, ConfigError


def test_names_and_numbers() -> None:
    assert parse_name("chat") == parse_name("chat.yaml") == ("chat", None)
    assert parse_name("a/b#12") == parse_name("a/b.yaml#12") == ("a/b", 12)
    for wrong in ("a#", "a#0", "a#x", "a#-1", "a#1#"):
        with pytest.raises(CassetteError, match="from 1 on"):
            parse_name(wrong)


def test_ages() -> None:
    def read(text: str | None) -> float | None:
        return age(click.Context(click.Command("a")), click.Option(["--b"]), text)

    assert (read(None), read("90d"), read("2 w"), read("1.5d"), read("12h")) == (None, 7776000, 1209600, 129600, 43200)
    for wrong in ("", "d", "-1d", "3y", "1e9d"):
        with pytest.raises(click.BadParameter, match="is not an age; write 90d, 2w or 12h"):
            read(wrong)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_file(file, "é")
    assert (read_file(str(file)), file.stat().st_mode & 0o777) == ("é".encode(), 0o600)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_file(str(tmp_path))
    with pytest.raises(ConfigError, match="cannot be written"):
        write_file(tmp_path / "none" / "a", "")
