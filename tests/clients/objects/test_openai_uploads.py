"""Large files: they go to disk while they come, and are gone with their objects."""

import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx2
import openai
import pytest
from openai import OpenAI

from mockserver.dialects._forms import write_form
from tests.kit.asgi import app
from tests.kit.served import Served, served

RULES = ""
MB = 1_000_000
LARGE = os.urandom(MB) * 30
MARGIN = 15 * MB  # bytes that the server may take beside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served("settings: {unmatched: error, max_upload: 40MB}", environ={"TMPDIR": str(folder)}) as running:
        yield running
        os.kill(running.pid, signal.SIGTERM)
        while running.said.next() is not None:  # until it has ended
            pass
        assert list(folder.iterdir()) == []


@pytest.fixture
def uploader(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key="any", max_retries=0) as client:
        yield client


def list_files(folder: Path) -> list[int]:
    """Return the sizes of the files in the private folder of the server."""
    return [file.stat().st_size for file in folder.glob("*/*")]


def test_a_large_file_is_on_disk_until_it_is_deleted(server: Served, uploader: OpenAI, folder: Path) -> None:
    uploader.files.create(file=("warm.txt", LARGE[: 2 * MB]), purpose="user_data")
    before = server.memory("VmHWM")
    made = uploader.files.create(file=("large.txt", LARGE), purpose="user_data")
    assert (made.bytes, made.filename) == (len(LARGE), "large.txt")
    assert sorted(list_files(folder)) == [2 * MB, len(LARGE)]
    assert [path.stat().st_mode & 0o077 for path in folder.iterdir()] == [0]
    digest = hashlib.sha256()
    with uploader.files.with_streaming_response.content(made.id) as answer:
        assert int(answer.headers["content-length"]) == len(LARGE)
        for piece in answer.iter_bytes():
            digest.update(piece)
    assert digest.digest() == hashlib.sha256(LARGE).digest()
    assert server.memory("VmHWM") < before + MARGIN
    uploader.files.delete(made.id)
    assert list_files(folder) == [2 * MB]


def test_a_file_in_parts_is_joined_on_disk(server: Served, uploader: OpenAI, folder: Path) -> None:
    before, kept = server.memory("VmHWM"), len(list_files(folder))
    done = uploader.uploads.upload_file_chunked(
        file=LARGE,
        filename="a.bin",
        mime_type="a/b",
        purpose="user_data",
        bytes=len(LARGE),
        part_size=10 * MB,
        md5=hashlib.md5(LARGE).hexdigest(),
    )
    assert done.file is not None
    assert done.file.bytes == len(LARGE)
    assert len(list_files(folder)) == kept + 1  # the parts are gone
    assert server.memory("VmHWM") < before + MARGIN


def test_an_upload_without_an_end_is_cut(server: Served, folder: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while True:
            yield LARGE[:MB]

    kept = len(list_files(folder))
    before = server.memory("VmHWM")
    try:
        answer = httpx2.post(
            f"{server.base('openai')}/files",
            content=pieces(),
            headers={"content-type": "multipart/form-data; boundary=x"},
        )
    except httpx2.WriteError:  # the server has closed the connection meanwhile
        pass
    else:
        assert answer.status_code == 413
        assert "larger than 40000000 bytes; the setting max_upload allows more" in answer.json()["error"]["message"]
    assert server.memory("VmHWM") < before + MARGIN
    assert len(list_files(folder)) == kept


def test_a_file_that_is_too_large_is_told_what_to_change(uploader: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError, match="the setting max_upload allows more") as caught:
        uploader.files.create(file=("large.txt", LARGE + LARGE), purpose="user_data")
    assert caught.value.status_code == 413


def test_nothing_is_kept_where_no_answers_are() -> None:
    server = app(stored_answers=0)
    for size in (MB // 10, 2 * MB):
        media, body = write_form({"purpose": "user_data", "file": LARGE[:size]})
        made = server.ask("/v1/files", body, headers={"content-type": media})
        assert (made.status, made.json["bytes"]) == (200, size)


@pytest.mark.parametrize("ending", [b"", b"\r\n--x-"])
def test_a_torn_form_leaves_nothing(server: Served, folder: Path, ending: bytes) -> None:
    kept = len(list_files(folder))
    head = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    answer = httpx2.post(
        f"{server.base('openai')}/files",
        content=head + LARGE[: 3 * MB] + ending,
        headers={"content-type": "multipart/form-data; boundary=x"},
    )
    assert answer.status_code == 400
    assert "before its last boundary" in answer.json()["error"]["message"]
    assert len(list_files(folder)) == kept
