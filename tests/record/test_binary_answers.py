"""Answers that are no text: they are recorded into files beside the cassette, and replayed from there."""

import re
from pathlib import Path
from shutil import copytree
from typing import Any

import openai
import pytest
from openai import OpenAI

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.errors import CassetteError
from tests.kit.program import run
from tests.kit.served import Served, served

SPEECH: Any = {"model": "tts-1", "voice": "alloy", "input": "Hello there", "response_format": "wav"}
KEY = "sk-very-secret-key-0123456789abcdef"


def connect(server: Served) -> OpenAI:
    return OpenAI(base_url=server.base("openai"), api_key=KEY, max_retries=0)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a cassette of speech."""
    folder = tmp_path_factory.mktemp("cassettes")
    with served() as provider:
        flags = ("--record", "once", "--cassette", "media", "--cassettes", str(folder))
        upstream = ("--upstream", f"openai={provider.base('openai')}")
        with served(flags=(*flags, *upstream)) as server, connect(server) as client:
            client.audio.speech.create(**SPEECH)
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    return copytree(recorded, tmp_path / "cassettes")


def test_a_binary_answer_is_a_file_beside_the_cassette(recorded: Path) -> None:
    [file] = (recorded / "media.files").iterdir()
    text = (recorded / "media.yaml").read_text()
    assert f'file: "{file.name}"' in text
    assert KEY not in text
    assert (recorded / "media.files").stat().st_mode & 0o077 == 0
    with served(flags=("--cassette", "media", "--cassettes", str(recorded))) as server, connect(server) as client:
        assert client.audio.speech.create(**SPEECH).content == file.read_bytes()
        with pytest.raises(openai.NotFoundError):
            client.audio.speech.create(**{**SPEECH, "input": "Good bye"})
    assert run("cassette", "verify", "--cassettes", recorded).code == 0


def test_a_file_that_was_changed_or_removed_is_told(folder: Path) -> None:
    [file] = (folder / "media.files").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(CassetteError, match=rf"media\.yaml:\d+:\d+: media\.files/{file.name} was changed"):
        CassetteFile(folder / "media.yaml").load()
    file.unlink()
    with pytest.raises(CassetteError, match=rf"media\.files/{file.name} cannot be read: No such file or directory"):
        CassetteFile(folder / "media.yaml").load()


@pytest.mark.parametrize("name", ["../media.yaml", "/etc/passwd", "0123456789abcdef", "a.wav"])
def test_no_other_file_is_read(folder: Path, name: str) -> None:
    cassette, [file] = folder / "media.yaml", (folder / "media.files").iterdir()
    cassette.write_text(cassette.read_text().replace(file.name, name))
    with pytest.raises(CassetteError, match=re.escape("write the name of a file in media.files")):
        CassetteFile(cassette).load()


def test_files_of_removed_episodes_are_removed(folder: Path) -> None:
    CassetteFile(folder / "media.yaml").rewrite(lambda episodes: episodes)
    assert len(list((folder / "media.files").iterdir())) == 1
    CassetteFile(folder / "media.yaml").rewrite(lambda episodes: ())
    assert list((folder / "media.files").iterdir()) == []
