"""A real Redis on a socket in a temporary directory, one for each worker of the test run, emptied between tests."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.seed import monotonic
from mockserver.state.redis.client import RedisClient, open_client, read_address
from tests.kit.programs import find_program


class RedisServer:
    """A `redis-server` or `valkey-server` in a folder; `more` are its options."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.socket, self._folder, self._more = folder / "s", folder, more
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        program = find_program("redis-server") or "redis-server"
        options = ("--unixsocket", str(self.socket), "--save", "", "--appendonly", "no", "--dir", str(self._folder))
        more = self._more if "--port" in self._more else ("--port", "0", *self._more)
        command = (program, *options, *more)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        began = monotonic()
        while not self._answers():
            if self.process.poll() is not None or monotonic() > began + 20:
                self.kill()
                pytest.fail(f"{command} does not answer")

    def command(self, *words: str) -> bytes:
        """Run redis-cli's command by hand: the reply's first line."""
        import redis

        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            return client.execute_command(*words)  # type: ignore[no-untyped-call, no-any-return]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        import redis

        try:
            return self.command("PING") is not None
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False


@pytest.fixture(scope="session")
def running_redis() -> Iterator[RedisServer]:
    folder = Path(tempfile.mkdtemp(prefix="redis-"))  # short: a socket's path has at most 107 characters
    server = RedisServer(folder, "--maxmemory", "256mb", "--maxmemory-policy", "noeviction")
    yield server
    server.kill()
    shutil.rmtree(folder)


@pytest.fixture
def shared(running_redis: RedisServer) -> RedisServer:
    """The Redis of this test run, which is empty."""
    running_redis.command("FLUSHALL")
    return running_redis


@pytest.fixture
def start_redis() -> Iterator[Callable[..., RedisServer]]:
    """Start a Redis of its own for a test; it is given options."""
    started = list[RedisServer]()

    def start(*options: str) -> RedisServer:
        started.append(RedisServer(Path(tempfile.mkdtemp(prefix="redis-")), *options))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        shutil.rmtree(each.socket.parent)


def connect_client(server: RedisServer, prefix: str = "mockserver") -> RedisClient:
    return open_client(read_address(f"{server.url}?prefix={prefix}"))


def find_free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        bound = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in bound]


@contextmanager
def sentinel(folder: Path, port: int, primary: int) -> Iterator[Callable[..., Any]]:
    """A Redis Sentinel that looks after `main`; commands for it are sent by what is yielded."""
    import redis

    told = ("down-after-milliseconds main 1000", "failover-timeout main 10000")
    lines = [f"port {port}", f"sentinel monitor main 127.0.0.1 {primary} 1", *(f"sentinel {each}" for each in told)]
    (folder / "sentinel.conf").write_text("\n".join(lines))
    program = find_program("redis-server") or "redis-server"
    command = [program, str(folder / "sentinel.conf"), "--sentinel", "--dir", str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def ask(*words: str) -> Any:
        try:
            with redis.Redis(port=port) as client:
                return client.execute_command(*words)  # type: ignore[no-untyped-call]
        except redis.ConnectionError:
            return None

    try:
        yield ask
    finally:
        process.kill()
        process.wait()
