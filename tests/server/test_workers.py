"""Several workers on one socket: what they refuse, how they end, how they are replaced."""

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.errors import ConfigError
from mockserver.server.live import Worker
from mockserver.server.reload import reload
from mockserver.server.sources import Sources
from mockserver.server.workers import start_worker
from tests.kit.episodes import chat
from tests.kit.processes import Served, serving, wait_until_true
from tests.kit.program import run
from tests.kit.raw import STREAM, Raw, post

pytestmark = pytest.mark.needs("pgrep")

RULES = """
rules:
  - {when: {last_user: hi}, then: {text: hello}}
  - {when: {last_user: "*"}, then: {text: a b c d, timing: {per_token: 1h}}}
"""
HI = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
STOPPED = 5.0  # seconds


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("{name: busy, times: 2, then: {text: a}}", 'rules.yaml:1 "busy" has times'),
        ("{state: {is: start, becomes: b}, then: {text: a}}", "rules.yaml:1 has state"),
        ("{when: {attempt: 2}, then: {text: a}}", "rules.yaml:1 has attempt"),
        (
            "{then: {text: a, faults: [{cut: {probability: 0.5}}]}}",
            "rules.yaml:1 has probability of the fault cut",
        ),
        ("{then: {text: a, faults: [{cut: {times: 1}}]}}", "rules.yaml:1 has times of the fault cut"),
    ],
)
def test_rules_that_count_are_refused(tmp_path: Path, rule: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(f"rules: [{rule}]")
    ran = run("serve", "--workers", "2")
    needs = f"mockserver: --workers 2 needs shared state: {why}; add --state redis://HOST:6379/0\n"
    assert (ran.code, ran.out, ran.err) == (2, "", needs)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--ids", "unique"), "ids is unique"),
        (("--limits", "{requests_per_minute: 5}"), "there are limits"),
        (("--keys", "{sk-1: {limits: {requests_per_minute: 5}}}"), "there are limits"),
        (("--stored-answers", "5"), "stored_answers is 5"),
        (
            ("--cassette", "chat"),
            "cassette chat.yaml answers a request several times (episodes 1 and 3)",
        ),
    ],
)
def test_settings_that_count_are_refused(
    tmp_path: Path, flags: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("Hi", "Ho", "Hi"):
        CassetteFile(tmp_path / "cassettes/chat.yaml").append(chat(text, {"text": "Hello"}))
    ran = run("serve", "--workers", "2", *flags)
    needs = f"mockserver: --workers 2 needs shared state: {why}; add --state redis://HOST:6379/0\n"
    assert (ran.code, ran.out, ran.err) == (2, "", needs)


def test_all_that_counts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text("rules:\n" + "- {times: 1, then: {text: a}}\n" * 6)
    causes = "; ".join(f"rules.yaml:{line} has times" for line in range(2, 7))
    needs = f"mockserver: --workers 2 needs shared state: {causes}; 2 more; add --state redis://HOST:6379/0\n"
    assert run("serve", "--workers", "2", "--ids", "unique").err == needs


def test_recording_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("serve", "--workers", "2", "--record", "once", "--cassette", "a")
    assert (ran.code, ran.err) == (
        2,
        "mockserver: record is once, but recording needs one process; use --workers 1\n",
    )


def test_a_reload_that_brings_a_rule_that_counts_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [{then: {text: a}}]")
    live = start_worker(Sources((file,), {"workers": 3}), Worker(1, 3), "token")
    engine = live.engine
    file.write_text("rules: [{times: 1, then: {text: b}}]")
    with pytest.raises(ConfigError, match=r"--workers 3 needs shared state: .*rules.yaml:1 has times; add --state"):
        asyncio.run(reload(live, live.sources))
    assert live.engine is engine
    file.write_text("rules: [{then: {text: b}}]")
    asyncio.run(reload(live, live.sources))
    assert live.engine is not engine


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of two workers, for the tests after which it still has them."""
    flags = ("--workers", 2, "--log", "text", "--unmatched", "error")
    with serving(tmp_path_factory.mktemp("two"), RULES, *flags) as served:
        yield served


def test_control_calls(two: Served) -> None:
    assert two.errors.splitlines()[1] == "  2 workers without shared state: answers are not stored"
    assert two.errors.count("mockserver listens") == 1
    assert two.numbers(2) == {1, 2}
    assert two.control("calls")["workers"] == 2
    assert list(two.control("calls?bodies=true")) == ["worker", "workers", "calls"]
    for path, body, method in (
        ("rules", {"then": {"text": "b"}}, "POST"),
        ("rules", None, "DELETE"),
        ("rules/a", None, "DELETE"),
        ("cassette", {"name": None}, "PUT"),
        ("cassette", None, "DELETE"),
        ("state", {"state": "a"}, "POST"),
        ("timing", {"on": False}, "POST"),
        *((path, {}, "POST") for path in ("reset", "reload")),
        ("calls", None, "DELETE"),
    ):
        status, answer = two.ask(f"/__mockserver__/api/{path}", body, method)
        assert status == 409, (path, answer)
        assert "start the server with --state redis://HOST:6379/0, or with --workers 1" in answer["error"]
    explained = {"body": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}
    assert two.control("explain", explained)["answered_by"] == "rule rules.yaml:3"


def test_requests_are_logged_with_the_worker(two: Served) -> None:
    assert two.chat("hi") == "hello"
    wait_until_true(lambda: ": 1 POST /v1/chat/completions -> 200" in two.errors)
    (line,) = [line for line in two.errors.splitlines() if "POST" in line]
    assert line.startswith(("worker 1: 1 POST", "worker 2: 1 POST"))


def test_answers_are_not_stored(two: Served) -> None:
    _, answer = two.ask("/v1/responses", {"model": "m", "input": "hi"})
    assert {two.ask(f"/v1/responses/{answer['id']}")[0] for _ in range(10)} == {404}


def test_a_killed_worker_is_replaced_and_takes_its_number(two: Served) -> None:
    assert two.numbers(2) == {1, 2}
    before = two.workers
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    wait_until_true(lambda: killed not in (now := two.workers) and before - {killed} < now)
    assert two.numbers(2) == {1, 2}
    wait_until_true(lambda: re.search(r"^worker [12] ended \(exit code -9\); another one starts$", two.errors, re.M))


def test_workers_are_replaced_without_losing_a_request(two: Served) -> None:
    assert two.numbers(2) == {1, 2}
    before, answered, failed, over = two.workers, list[object](), list[Exception](), Event()

    def load() -> None:
        while not over.is_set():
            try:
                answered.append(two.chat("hi"))
            except Exception as error:
                failed.append(error)

    threads = [Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    os.kill(two.process.pid, signal.SIGHUP)
    wait_until_true(lambda: not before & two.workers and len(two.workers) == 2)
    over.set()
    for thread in threads:
        thread.join()
    assert (failed, set(answered)) == ([], {"hello"})
    assert len(answered) > 50
    assert two.numbers(2) == {1, 2}


def test_a_worker_is_not_replaced_while_rules_have_mistakes(tmp_path: Path) -> None:
    with serving(tmp_path, RULES, "--workers", 2, "--no-reload") as served:
        assert served.numbers(2) == {1, 2}
        before = served.workers
        (tmp_path / "rules.yaml").write_text("rules: [{then: {txt: a}}]")
        os.kill(served.process.pid, signal.SIGHUP)
        wait_until_true(lambda: "workers are not replaced: rules.yaml:1" in served.errors)
        os.kill(min(before), signal.SIGKILL)
        wait_until_true(lambda: "a worker that ended is not replaced: rules.yaml:1" in served.errors)
        assert served.chat("hi") == "hello"
        assert len(served.workers) == 1
        (tmp_path / "rules.yaml").write_text(RULES.replace("hello", "changed"))
        wait_until_true(lambda: len(served.workers) == 2)
        assert served.errors.count("is not replaced") == 1


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    with serving(tmp_path, RULES, "--workers", 2) as served:
        assert served.numbers(2) == {1, 2}
        workers = served.workers
        with Raw(served.port) as line:
            line.send(post(STREAM)).socket.recv(100)
            os.kill(served.process.pid, signal.SIGKILL)
            wait_until_true(lambda: not any(_runs(worker) for worker in workers), STOPPED + 2)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path, RULES, "--workers", 2) as served:
        assert served.numbers(2) == {1, 2}
        workers = served.workers
        with Raw(served.port) as stream, Raw(served.port):
            stream.send(post(STREAM)).socket.recv(100)
            began = time.monotonic()
            os.killpg(served.process.pid, number)  # as a terminal does
            assert served.process.wait(timeout=4 * STOPPED) == 0
            assert time.monotonic() - began < STOPPED
            assert b"[DONE]" not in stream.rest()
        assert not any(_runs(worker) for worker in workers)
        assert "Traceback" not in served.errors
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", served.port))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_quiet_connection_is_answered_once_more(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, RULES, "--workers", workers) as served, Raw(served.port) as line, Raw(served.port) as other:
        request = post(HI)
        assert "connection" not in line.send(request).receive().headers
        served.process.terminate()
        wait_until_true(lambda: not _listens(served.port))
        last = line.send(request).receive()
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert (line.rest(), other.rest()) == (b"", b"")
        assert served.process.wait(timeout=STOPPED) == 0


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True
