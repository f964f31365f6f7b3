"""Large calls leave the others their turn; small ones are done at once."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Message
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Answer, Failure, Listing, Stored, Text, Usage
from mockserver.dialects._forms import write_form
from mockserver.dialects._openai_api import audio
from mockserver.engine.offload import (
    LARGEST_IN_LOOP,
    LONG,
    THREADS,
    WORKER,
    is_large,
    is_long,
    makes_long,
    on_thread,
)
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.ocr import DocumentPage, PageImage, Pages
from mockserver.media.sound_files import Speech, write_wav
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.served import ROOT


def a_call(text: str = "", body: bytes = b"") -> Call:
    http, said = HttpRequest("POST", "/", body=body), (Message("user", text), Message("assistant", text))
    return Call("openai", "chat", "m", http, {}, messages=said, previous_response_id="r" if text else None)


def in_main_thread() -> bool:
    return current_thread() is main_thread()


@pytest.mark.parametrize(
    ("call", "large"),
    [
        (a_call(), False),
        (a_call("x" * (LARGEST_IN_LOOP // 2)), False),
        (a_call("x" * (LARGEST_IN_LOOP // 2 + 1)), True),  # each of two messages
        (a_call(body=b"x" * LARGEST_IN_LOOP), False),
        (a_call(body=b"x" * (LARGEST_IN_LOOP + 1)), True),
    ],
    ids=["nothing", "half", "messages", "a body", "a larger body"],
)
def test_what_is_large(call: Call, large: bool) -> None:
    assert is_large(call) is large


def test_what_fails_apart_fails_here() -> None:
    def refuse() -> None:
        raise Failure("bad_parameter", "No.")

    with pytest.raises(Failure, match="No"):
        asyncio.run(on_thread(refuse))


SAID = [{"role": "user", "content": "One for Ann, 42"}]


def test_a_panic_apart_is_told_and_the_thread_goes_on() -> None:
    class PanicError(BaseException):
        """As what is written in Rust raises."""

    def panic() -> None:
        raise PanicError("at the disco")

    for _ in range(THREADS):
        with pytest.raises(RuntimeError, match="PanicError: at the disco"):
            asyncio.run(on_thread(panic))
    assert asyncio.run(on_thread(in_main_thread)) is False


PROPERTIES = {f"p{at}": {"type": "string", "description": "a name"} for at in range(600)}
WIDE = {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES)}
TOOL = {"type": "function", "function": {"name": "make", "parameters": WIDE}}
CHAT, EMBEDDINGS = "/v1/chat/completions", "/v1/embeddings"
HARD: dict[str, tuple[str, dict[str, Any], int]] = {
    "a wide schema": (
        CHAT,
        {"response_format": {"type": "json_schema", "json_schema": {"name": "wide", "schema": WIDE}}, "n": 3},
        200,
    ),
    "a wide tool": (CHAT, {"tools": [TOOL], "tool_choice": "required"}, 200),
    "a long prompt": (CHAT, {"messages": [{"role": "user", "content": "12:12 in Rome, named 'Ann', " * 20_000}]}, 200),
    "many choices": (CHAT, {"n": 128, "logprobs": True, "top_logprobs": 20}, 200),
    "many numbers": (CHAT, {"x": [1e-300] * 100_000}, 200),
    "many vectors": (EMBEDDINGS, {"input": [f"text {at}" for at in range(500)]}, 200),
}


@pytest.mark.usefixtures("frozen_heap")
@pytest.mark.parametrize(("path", "hard", "status"), HARD.values(), ids=HARD)
def test_others_are_served_while_a_large_call_is_answered(path: str, hard: dict[str, Any], status: int) -> None:
    server = app()
    server.ask(path, {"model": "m", "messages": SAID, "input": "x"})  # imports what it needs
    body = json.dumps({"model": "m", **({} if path == EMBEDDINGS else {"messages": SAID}), **hard}).encode()
    assert answer_beside_others(server, path, body).status == status


def upload(server: App, path: str, file: bytes, **fields: str) -> Answered:
    media, body = write_form({**fields, "file": file})
    return server.ask(path, body, headers={"content-type": media})


EXAMPLE = b'{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hi!"}]}\n'
LINE = b'{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {}}\n'
WINDOW = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
READERS: dict[str, tuple[str, dict[str, Any], str, bytes]] = {
    "a job": ("/v1/fine_tuning/jobs", {"model": "m"}, "training_file", EXAMPLE * 30_000),
    "a batch": ("/v1/batches", WINDOW, "input_file_id", LINE * 30_000),  # whose names are not unique
}


@pytest.mark.usefixtures("frozen_heap")
@pytest.mark.parametrize(("path", "fields", "named", "file"), READERS.values(), ids=READERS)
def test_others_are_served_while_a_large_file_is_read(
    path: str, fields: dict[str, Any], named: str, file: bytes
) -> None:
    server = app()
    small, large = (
        upload(server, "/v1/files", data, purpose="user_data").json["id"] for data in (file[: file.index(b"\n")], file)
    )
    server.ask(path, {**fields, named: small})  # imports what it needs
    assert answer_beside_others(server, path, json.dumps({**fields, named: large}).encode()).status == 200


def test_a_large_recording_is_heard_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = list[bool]()
    monkeypatch.setattr(audio, "hear", lambda data: heard.append(in_main_thread()))
    recording = write_wav(Speech("hi")) + bytes(2_000_000)  # a form that large goes to disk
    assert upload(app(), "/v1/audio/transcriptions", recording, model="whisper-1").status == 200
    assert heard == [False]


def answer_beside_others(server: App, path: str, body: bytes) -> Answered:
    """Return what a request gets. What it takes of a processor, others never wait for as a whole."""
    longest, turns = 0.0, 0

    async def others() -> None:
        nonlocal longest, turns
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)
            turns += 1

    async def both() -> tuple[Answered, float]:
        task = asyncio.create_task(others())
        await asyncio.sleep(0)
        began = time.process_time()
        answered = await server.answer(path, body, headers={})
        task.cancel()
        return answered, time.process_time() - began

    answered, took = asyncio.run(both())
    assert turns > 5  # hundreds where nothing else runs
    assert longest < took / 3
    return answered


def test_a_call_that_takes_long_does_not_keep_the_next_large_one_waiting() -> None:
    started, ended = Event(), Event()

    def wait() -> bool:
        started.set()
        return ended.wait(timeout=30)

    async def both() -> bool:
        slow = asyncio.create_task(on_thread(wait))
        await on_thread(started.wait)
        assert await on_thread(lambda: 5) == 5
        ended.set()
        return await slow

    assert asyncio.run(both())


def test_nobody_has_to_listen_to_the_end() -> None:
    ended = Event()

    async def left() -> None:
        asking = asyncio.create_task(on_thread(lambda: ended.wait(timeout=30)))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(left())
    ended.set()
    assert asyncio.run(on_thread(lambda: 5)) == 5


ENDLESS = """
import asyncio
from threading import Event
from mockserver.engine.offload import on_thread

async def main():
    started = Event()
    asyncio.create_task(on_thread(lambda: started.set() or Event().wait()))
    await asyncio.sleep(0)
    started.wait()

asyncio.run(main())
"""


def test_a_process_ends_whatever_its_threads_are_doing() -> None:
    ran = subprocess.run([sys.executable, "-c", ENDLESS], cwd=ROOT, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("n", "logprobs", "letters", "long"),
    [(1, None, 10**6, False), (1, 0, 100, False), (128, None, 10_000, True), (1, 20, 10_000, True), (2, 5, 100, False)],
)
def test_what_will_be_a_long_answer(n: int, logprobs: int | None, letters: int, long: bool) -> None:
    asked = replace(a_call(), options=replace(a_call().options, n=n, logprobs=logprobs))
    assert makes_long(asked, Draft((DraftChoice((Text("x" * letters),)),))) is long


def test_what_will_be_a_long_artifact() -> None:
    scan = replace(a_call(), operation="ocr")
    assert not makes_long(scan, ArtifactDraft())
    assert makes_long(replace(scan, options=replace(scan.options, image_schema={"type": "object"})), ArtifactDraft())
    page = DocumentPage(0, "![a](b.png)", images=(PageImage("b.png", "a"),))
    assert not is_long(scan, Pages("m", (page,)))
    assert is_long(scan, Pages("m", (page,) * 3))  # whose pictures may be drawn


def test_what_is_a_long_answer() -> None:
    answer = Answer("x", 0, "m", (), Usage(completion=LONG // 2))
    assert not is_long(a_call(), answer)
    assert is_long(replace(a_call(), options=replace(a_call().options, logprobs=5)), answer)
    assert is_long(a_call(), Stored(replace(a_call(), options=replace(a_call().options, logprobs=5)), answer))
    assert is_long(a_call(), Listing((Stored(a_call(), answer, size=LARGEST_IN_LOOP + 1),)))
    assert is_long(a_call(), Embeddings("m", ((0.5,),) * (LONG // 1000), 1))
    assert not is_long(a_call(), Failure("bad_parameter"))


async def test_whoever_runs_an_application_may_do_its_large_work() -> None:
    async def work_here(work: Callable[[], Any]) -> Any:
        return work()

    before = WORKER.set(work_here)
    assert await on_thread(in_main_thread)
    WORKER.reset(before)
    assert not await on_thread(in_main_thread)


def test_a_fork_has_threads_of_its_own() -> None:
    program = """
import asyncio, os
from mockserver.engine.offload import on_thread
assert asyncio.run(on_thread(lambda: 1)) == 1
if os.fork() == 0:
    os._exit(asyncio.run(asyncio.wait_for(on_thread(lambda: 7), 10)))
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout == "7\n"
