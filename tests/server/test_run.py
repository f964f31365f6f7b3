"""Running a server: the socket, signals, a server in a thread, and the variables that lead clients to it."""

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import pytest

from mockserver.config.errors import ConfigError
from mockserver.delivery.connection import MAX_WRITE
from mockserver.server.client_environment import KEY, make_environment
from mockserver.server.run import Running, allow_open_files, bind
from tests.kit.local import local
from tests.kit.raw import HI, STREAM, Raw, post
from tests.kit.served import served

ENDLESS = "rules: [{then: {text: a b c, timing: {per_token: 1h}}}]"


def test_a_port_in_use_and_invalid_hosts() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as error:
            bind("127.0.0.1", port)
    assert str(error.value) == (
        f"cannot listen on 127.0.0.1:{port}: another program uses this port; "
        "stop it, or choose another (0 picks a free one)"
    )
    for host in ("a..é", "a\0b"):
        with pytest.raises(ConfigError, match=":0: this is not a valid host name"):
            bind(host, 0)


def test_a_server_may_open_as_many_files_as_the_system_permits() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most // 2, most))
    try:
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_it_serves_is_not_lost(number: signal.Signals) -> None:
    script = """
import gc, os, signal, sys
from mockserver.server.compose import start
from mockserver.server.sources import Sources
from mockserver.server.run import bind, serve
gc.freeze = lambda: os.kill(os.getpid(), int(sys.argv[1]))  # the last thing before it serves
serve(start(Sources()), Sources(), bind("127.0.0.1", 0), print)
"""
    command = [sys.executable, "-c", script, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


LONG = f"rules: [{{then: {{raw: {{status: 200, body: {'x' * 2 * MAX_WRITE}}}}}}}]"


def test_a_stop_does_not_cut_an_answer_that_closes_its_connection() -> None:
    with (
        ThreadPoolExecutor() as pool,
        served(LONG) as server,
        Raw(server.port, receive_buffer=4096, segment=536) as line,
    ):
        line.send(post(HI, "connection: close"))
        is_written = pool.submit(server.logged, 1)
        received = b""
        while not is_written.done():  # the server holds the end of it then, as the system does not take all
            received += line.socket.recv(2048)
            sleep(0.002)
        os.kill(server.pid, signal.SIGTERM)
        wait_until_refused(server.port)
        received += line.rest()
        assert received.endswith(b"x\r\n0\r\n\r\n")
        assert is_written.result()["ended"] == "complete"


def wait_until_refused(port: int) -> None:
    """Return once a server that was told to stop has begun to."""
    with suppress(ConnectionRefusedError):
        while True:
            socket.create_connection(("127.0.0.1", port)).close()
            sleep(0.01)


# --- in a thread


def port_of(running: Running) -> int:
    return int(running.address.rpartition(":")[2])


def streaming(running: Running, version: str = "1.1") -> Raw:
    """A connection on which an endless answer has begun."""
    line = Raw(port_of(running)).send(post(STREAM, version=version))
    assert line.socket.recv(100).startswith(b"HTTP/1.1 200")
    return line


def test_it_serves_at_its_address_and_leaves_nothing_behind() -> None:
    threads = set(threading.enumerate())
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Running(local(port=0, host="0.0.0.0").live) as running:
        assert running.address.startswith("http://127.0.0.1:")
        assert urlopen(f"{running.address}/v1/models").status == 200
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert set(threading.enumerate()) == threads
    with pytest.raises(OSError, match="refused"):
        urlopen(f"{running.address}/v1/models")
    Running(local(port=0).live).stop()  # although it never started


def test_an_open_stream_does_not_hold_it_long(caplog: pytest.LogCaptureFixture) -> None:
    running = Running(local(ENDLESS, port=0).live)
    running.start()
    with streaming(running), streaming(running, "1.0"):
        start = monotonic()
        running.stop()
        assert monotonic() - start < 20
    assert caplog.messages == ["stopped; answers cut off because they were still being sent: 2"]
    cut = {(row.status, row.source.split()[0], row.ended) for row in running.live.journal}
    assert cut == {(200, "rule", "server stopped")}


@contextmanager
def unread(running: Running) -> Iterator[Raw]:
    """A connection to which a whole answer was written, of which the client has read only the beginning."""
    with Raw(port_of(running), receive_buffer=4096, segment=536) as line:
        line.send(post(HI))
        line.socket.recv(1)
        while running.live.journal.open_calls:
            line.socket.recv(2048)
            sleep(0.002)
        yield line


def test_what_was_written_is_sent_before_it_stops() -> None:
    running = Running(local(LONG, port=0).live)
    running.start()
    with ThreadPoolExecutor() as pool, unread(running) as line:
        pool.submit(running.stop)
        assert line.rest().endswith(b"x\r\n0\r\n\r\n")


def test_a_client_that_does_not_read_does_not_hold_it_long(caplog: pytest.LogCaptureFixture) -> None:
    running = Running(local(LONG, port=0).live)
    running.start()
    with unread(running):
        start = monotonic()
        running.stop()
        assert monotonic() - start < 20
    assert caplog.messages == ["stopped, although clients had not read all that was sent to them"]


def test_requests_that_a_stop_meets_as_they_come_are_answered() -> None:
    live = local(
        "rules: [{then: {text: a, timing: {total: 1h}}}]", port=0, limits={"concurrent_requests": 1, "queue": 9}
    ).live
    with Running(live) as running, Raw(port_of(running)) as working, Raw(port_of(running)) as waiting:
        connections: set[Any] = running._server.server_state.connections

        async def receive_and_stop() -> None:
            while len(connections) < 2:
                await asyncio.sleep(0)
            for connection in tuple(connections):
                connection.data_received(post(HI))  # the other waits until this one has ended
            for task in tuple(running._server.server_state.tasks):
                task.cancel()

        running.wait_for(receive_and_stop())
        assert [line.receive().status for line in (working, waiting)] == [503, 503]
        assert [row.ended for row in live.journal] == ["server stopped", "server stopped"]


def test_clients_that_stopped_sending_are_hung_up_or_all() -> None:
    with Running(local(ENDLESS, port=0).live) as running:
        first, second = streaming(running), streaming(running)
        first.socket.close()
        running.hang_up(all_of_them=False)
        assert [row.ended for row in running.live.journal] == ["client left", ""]
        running.hang_up()
        assert [row.ended for row in running.live.journal] == ["client left", "client left"]
        second.socket.close()


def test_a_fork_is_told_where_the_server_is() -> None:
    with Running(local(port=0).live) as running:
        running.check_here()
        reading, writing = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # threads are what this is about
            child = os.fork()
        if child == 0:
            try:
                running.stop()  # does nothing here
                running.check_here()
            except ConfigError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading) as told:
            assert told.read().startswith("the server runs in the process that this one was forked from")
        with socket.create_connection(("127.0.0.1", port_of(running))):
            pass


# --- variables

ADDRESS = "http://127.0.0.1:8123"
REAL = {"OPENAI_API_KEY": "sk-real", "FIREWORKS_API_KEY": "fw-real"}


def variables(environ: Mapping[str, str] = {}, **settings: Any) -> Mapping[str, str]:
    return make_environment(ADDRESS, local(**settings).live.settings, environ)


def test_every_client_is_led_to_its_own_dialect() -> None:
    found = variables()
    assert found["MOCKSERVER_URL"] == ADDRESS
    assert found["OPENAI_BASE_URL"] == f"{ADDRESS}/openai/v1"
    assert found["FIREWORKS_BASE_URL"] == f"{ADDRESS}/fireworks/inference"
    assert found["LIGHTCONE_BASE_URL"] == f"{ADDRESS}/tzafon"
    assert found["AZURE_OPENAI_ENDPOINT"] == f"{ADDRESS}/azure-openai"
    assert found["AZURE_AI_API_BASE"] == f"{ADDRESS}/azure"
    assert found["ANTHROPIC_BASE_URL"] == f"{ADDRESS}/anthropic"
    assert found["GOOGLE_GEMINI_BASE_URL"] == f"{ADDRESS}/gemini"
    assert {found[name] for name in found if name.endswith(("_KEY", "_CREDENTIAL"))} == {KEY}
    assert variables(REAL, keys=["sk-first", "sk-second"])["OPENAI_API_KEY"] == "sk-first"
    assert found["OPENAI_API_VERSION"] == "2024-10-21"
    assert variables({"OPENAI_API_VERSION": "2025-01-01"})["OPENAI_API_VERSION"] == "2025-01-01"
    for dialect, base in (("skytells", "/skytells/v1"), ("tzafon", "/openai/v1")):
        found = variables(dialect=dialect)
        assert found["OPENAI_BASE_URL"] == found["OPENAI_API_BASE"] == ADDRESS + base


@pytest.mark.parametrize(
    ("settings", "environ", "key"),
    [
        ({"upstream": "openai=https://a.test"}, REAL, "sk-real"),
        ({"upstream": "openai=https://a.test"}, {**REAL, "MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-other"}, KEY),
        ({"upstream": "openai=https://a.test", "keys": ["sk-own"]}, REAL, "sk-own"),
        ({"upstream": "openai=https://a.test"}, {}, KEY),
        ({"upstream": "skytells=https://a.test", "dialect": "skytells"}, REAL, "sk-real"),
        ({"upstream": "skytells=https://a.test"}, REAL, KEY),
    ],
)
def test_a_real_key_stays_if_its_upstream_needs_it(
    settings: Mapping[str, Any], environ: Mapping[str, str], key: str
) -> None:
    found = variables(environ, **settings)
    assert (found["OPENAI_API_KEY"], found["FIREWORKS_API_KEY"]) == (key, settings.get("keys", [KEY])[0])


@pytest.mark.parametrize(
    ("environ", "upstream", "names"),
    [
        ({}, False, {"GEMINI_API_KEY": KEY}),
        ({"GEMINI_API_KEY": "real"}, False, {"GEMINI_API_KEY": KEY}),
        ({"GOOGLE_API_KEY": "real"}, False, {"GOOGLE_API_KEY": KEY}),
        ({"GEMINI_API_KEY": "real"}, True, {"GEMINI_API_KEY": "real"}),
        ({"GOOGLE_API_KEY": "real"}, True, {"GOOGLE_API_KEY": "real"}),
        ({}, True, {"GEMINI_API_KEY": KEY}),
    ],
)
def test_gemini_gets_one_key_as_its_client_warns_of_two(
    environ: Mapping[str, str], upstream: bool, names: Mapping[str, str]
) -> None:
    found = variables(environ, **({"upstream": "gemini=https://a.test"} if upstream else {}))
    assert {name: found[name] for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY") if name in found} == names


def test_no_key_is_put_next_to_a_real_one() -> None:
    found = variables({"ANTHROPIC_AUTH_TOKEN": "real"}, upstream="anthropic=https://a.test")
    assert found.keys().isdisjoint(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))  # it stays as it is


def test_what_leads_clients_past_the_server_is_emptied() -> None:
    elsewhere = {"ANTHROPIC_AUTH_TOKEN": "real", "ANTHROPIC_PROFILE": "work", "GOOGLE_GENAI_USE_VERTEXAI": "true"}
    assert variables(elsewhere).items() >= dict.fromkeys(elsewhere, "").items()
    assert variables().keys().isdisjoint(elsewhere)
    assert variables(elsewhere, upstream="gemini=https://a.test").keys() & elsewhere.keys() == {
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_PROFILE",
    }


def test_no_proxy_is_used() -> None:
    assert variables()["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert variables({"NO_PROXY": "*"}).items() >= {"NO_PROXY": "*", "no_proxy": "*"}.items()
    assert variables({"no_proxy": "corp.test"})["NO_PROXY"] == "corp.test,127.0.0.1,localhost,::1"
    found = variables({"NO_PROXY": "corp.test, localhost", "no_proxy": "*"})
    assert (found["NO_PROXY"], found["no_proxy"]) == ("corp.test,localhost,127.0.0.1,::1", "*")
