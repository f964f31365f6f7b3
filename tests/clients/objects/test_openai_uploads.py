"""Large files: they go to disk while they come, and are gone with their objects."""

import hashlib
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from select import select

import httpx2
import openai
import pytest
from openai import OpenAI

from mockserver.dialects._forms import write_form
from mockserver.media.sound_files import Speech, write_wav
from tests.kit.asgi import app
from tests.kit.processes import wait_until_true
from tests.kit.raw import PATIENCE, Raw
from tests.kit.served import Served, served
from tests.kit.upstream import plain, upstream

MB = 1_000_000
LARGE = os.urandom(MB) * 30
MARGIN = 15 * MB  # bytes that the server may take beside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(RULES, environ={"TMPDIR": str(folder)}) as running:
        yield running
        stop(running)
        assert list(folder.iterdir()) == []


RULES = """
settings: {unmatched: error, max_upload: 40MB, keys: {any: {}}}
rules:
  - {when: {operation: transcriptions, param.duration: {gte: 600}}, then: {transcript: A long talk}}
"""


def stop(server: Served) -> None:
    """Stop a server, and return once it has ended."""
    os.kill(server.pid, signal.SIGTERM)
    while server.said.next() is not None:
        pass


def begin_upload(server: Served, data: bytes = b"", *lines: bytes) -> Raw:
    """Send the start of an upload that has no end, with these header lines."""
    head = (b"POST /v1/files HTTP/1.1", b"host: localhost", FORM, b"content-length: 30000000", *lines, b"", FILE)
    return Raw(server.port).send(b"\r\n".join(head) + data)


FORM = b"content-type: multipart/form-data; boundary=x"
FILE = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
END = b"\r\n--x--\r\n"
OURS = b"authorization: Bearer any"
HEADERS = dict(line.decode().split(": ") for line in (FORM, OURS))


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


@pytest.mark.parametrize("kind", ["wav", "mp3"])
def test_of_a_large_recording_only_the_beginning_is_heard(
    kind: str, server: Served, uploader: OpenAI, folder: Path
) -> None:
    wave = write_wav(Speech("Hello"))
    head = wave[:40] + len(LARGE).to_bytes(4, "little") if kind == "wav" else b"ID3"
    kept, before = len(list_files(folder)), server.memory("VmHWM")
    file = (f"a.{kind}", head + LARGE + LARGE[: 8 * MB])
    assert uploader.audio.transcriptions.create(model="whisper-1", file=file).text == "A long talk"
    assert server.memory("VmHWM") < before + 2 * MARGIN
    wait_until_true(lambda: len(list_files(folder)) == kept)


def test_a_field_may_not_be_as_large_as_a_file(server: Served, uploader: OpenAI) -> None:
    before = server.memory("VmHWM")
    with pytest.raises(openai.BadRequestError, match="the fields other than files have more than 16,000,000 bytes"):
        uploader.files.create(file=("a.txt", b"a"), purpose="x" * len(LARGE))  # type: ignore[arg-type]
    assert server.memory("VmHWM") < before + MARGIN


def test_an_upload_without_an_end_is_cut(server: Served, folder: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield FILE
        while True:
            yield LARGE[:MB]

    kept = len(list_files(folder))
    before = server.memory("VmHWM")
    try:
        answer = httpx2.post(
            f"{server.base('openai')}/files",
            content=pieces(),
            headers=HEADERS,
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


def test_of_files_that_are_too_many_together_the_oldest_go(tmp_path: Path) -> None:
    rules = "settings: {stored_files: 10MB}"
    with (
        served(rules, environ={"TMPDIR": str(tmp_path)}) as server,
        OpenAI(base_url=server.base("openai"), api_key="any", max_retries=0) as client,
        OpenAI(base_url=f"{server.address}/ns/other/v1", api_key="any", max_retries=0) as other,
    ):
        theirs = other.files.create(file=("theirs", LARGE[: 3 * MB]), purpose="user_data")
        small = client.files.create(file=("small", b"a"), purpose="user_data")
        made = [client.files.create(file=("ours", LARGE[: 4 * MB]), purpose="user_data") for _ in range(3)]
        wait_until_true(lambda: sorted(list_files(tmp_path)) == [3 * MB, 4 * MB])
        assert [each.id for each in client.files.list()] == [made[-1].id, small.id]
        assert other.files.content(theirs.id).read() == LARGE[: 3 * MB]
        with pytest.raises(openai.APIStatusError, match="stored_files allows more") as caught:
            client.files.create(file=("huge", LARGE[: 11 * MB]), purpose="user_data")
        assert caught.value.status_code == 413
        client.files.create(file=("ours", LARGE[: 9 * MB]), purpose="user_data")
        wait_until_true(lambda: list_files(tmp_path) == [9 * MB])
        assert not other.files.list().data  # nothing of ours could go any more


@pytest.mark.parametrize("ending", [b"", b"\r\n--x-"])
def test_a_torn_form_leaves_nothing(server: Served, folder: Path, ending: bytes) -> None:
    kept = len(list_files(folder))
    answer = httpx2.post(
        f"{server.base('openai')}/files",
        content=FILE + LARGE[: 3 * MB] + ending,
        headers=HEADERS,
    )
    assert answer.status_code == 400
    assert "before its last boundary" in answer.json()["error"]["message"]
    assert len(list_files(folder)) == kept


def test_many_parts_take_little_memory_together(server: Served, folder: Path) -> None:
    part = b"\r\n".join((b"--x", b'content-disposition: form-data; name="p"; filename="p"', b"", LARGE[: MB - 1], b""))
    kept, before = len(list_files(folder)), server.memory("VmHWM")
    answer = httpx2.post(f"{server.base('openai')}/files", content=part * 35 + b"--x--", headers=HEADERS)
    assert answer.status_code == 400  # none is the file
    assert server.memory("VmHWM") < before + MARGIN
    assert len(list_files(folder)) == kept


def test_what_forms_hold_in_memory_counts_as_unsent() -> None:
    data = LARGE[:900_000]
    with (
        served("settings: {max_unsent: 1MB}") as server,
        begin_upload(server, data) as one,
        begin_upload(server, data) as other,
    ):
        readable, _, _ = select([one.socket, other.socket], [], [], PATIENCE)
        refused = one if one.socket in readable else other
        assert refused.receive().status == 503


def test_the_file_of_a_refused_upload_is_gone_with_the_answer(uploader: OpenAI, folder: Path) -> None:
    kept = len(list_files(folder))
    file = ("a.txt", LARGE[: 2 * MB])
    with pytest.raises(openai.BadRequestError, match="'nonsense' is not one of"):
        uploader.files.create(file=file, purpose="nonsense")  # type: ignore[arg-type]
    assert len(list_files(folder)) == kept
    with pytest.raises(openai.NotFoundError):
        uploader.uploads.parts.create("upload_none", data=file)
    wait_until_true(lambda: len(list_files(folder)) == kept)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((b"authorization: Bearer other",), 401),
        ((OURS, b"origin: https://evil.test", b"sec-fetch-site: cross-site"), 403),
        ((OURS, b"origin: http://localhost"), 415),  # what pages send without asking first is never a form
    ],
)
def test_a_sender_that_may_not_ask_is_refused_before_its_upload(
    server: Served, folder: Path, lines: tuple[bytes, ...], status: int
) -> None:
    kept = len(list_files(folder))
    with begin_upload(server, LARGE[: 2 * MB], *lines) as sender:
        assert sender.receive().status == status
    assert len(list_files(folder)) == kept


def test_an_upload_for_which_there_is_no_space_says_so(server: Served, uploader: OpenAI, folder: Path) -> None:
    kept, unlimited = len(list_files(folder)), resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (2 * MB, unlimited[1]))
    try:
        with pytest.raises(
            openai.InternalServerError, match=f"no space left in {folder} .* lower max_upload"
        ) as caught:
            uploader.files.create(file=("large.txt", LARGE), purpose="user_data")
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
    assert caught.value.status_code == 507
    assert len(list_files(folder)) == kept
    calls = httpx2.get(f"{server.address}/__mockserver__/api/calls").json()["calls"]
    assert [(call["status"], call["ended"]) for call in calls[-1:]] == [(507, "complete")]


def test_an_upload_is_recorded_with_its_body(tmp_path: Path) -> None:
    chosen = {"name": "x", "record": "once"}
    with (
        upstream({"made": plain(b'{"id": "file-1", "object": "file"}')}) as behind,
        served(flags=("--upstream", f"openai={behind.base('made')}"), environ={"TMPDIR": str(tmp_path)}) as server,
        begin_upload(server, LARGE[: 2 * MB]) as early,
    ):
        wait_until_true(lambda: list_files(tmp_path))
        httpx2.put(f"{server.address}/__mockserver__/api/cassette", json=chosen).raise_for_status()
        early.send(LARGE[: 28 * MB - len(FILE) - len(END)], END)
        assert b"please send it again" in early.receive().body  # what is on disk by now cannot be forwarded
        with OpenAI(base_url=server.base("openai"), api_key="any", max_retries=0) as client:
            assert client.files.create(file=("a.bin", LARGE[: 2 * MB]), purpose="user_data").id == "file-1"
        assert LARGE[: 2 * MB] in behind.asked().body


def test_workers_leave_nothing(tmp_path: Path) -> None:
    with served(flags=("--workers", "2"), environ={"TMPDIR": str(tmp_path)}) as server:
        with begin_upload(server, LARGE[: 3 * MB]):
            wait_until_true(lambda: list_files(tmp_path))
            stop(server)
        assert list(tmp_path.iterdir()) == []
