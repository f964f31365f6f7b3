"""What a URL of a shared state says, and each reason why the server does not start with it."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from mockserver.config.errors import explain_extra
from mockserver.state.redis.client import UnusableStateError, explain_unusable, open_client, read_address
from tests.kit.program import run
from tests.kit.shared import RedisServer

SECRET = "sesame-open"  # of no server


@pytest.mark.parametrize(
    ("url", "prefix", "shown"),
    [
        ("redis://h:1/2", "mockserver", "redis://h:1/2"),
        (f"rediss://u:{SECRET}@h/0?prefix=team.a", "team.a", "rediss://h/0"),
        (f"unix:///tmp/s?db=1&password={SECRET}", "mockserver", "unix:///tmp/s"),
        (f"sentinel://:{SECRET}@a:1,b:2/name/0", "mockserver", "sentinel://a:1,b:2/name/0"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, prefix: str, shown: str) -> None:
    found = read_address(url)
    assert (found.prefix, found.shown) == (prefix, shown)
    assert SECRET not in repr(found)


def refusal(url: str) -> str:
    with pytest.raises(UnusableStateError) as raised:
        open_client(read_address(url))
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None
    return str(raised.value)


NO_URL = "this is not a URL; in a user or password, write / ? # [ ] @ as %2F %3F %23 %5B %5D %40"
START = "start Redis there, or leave --state out"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://127.0.0.1:1/0", f"connection refused; {START}"),
        (f"redis://:{SECRET}@127.0.0.1:1/0", f"connection refused; {START}"),
        ("redis://nowhere.invalid/0", "unknown host"),
        ("unix:///nowhere/s", f"there is no such socket; {START}"),
        ("sentinel://127.0.0.1:1/name/0", "no Sentinel answers there, or none knows a primary with this name"),
        ("http://127.0.0.1", "must be memory, redis://HOST:6379/0, rediss://, unix:// or sentinel://"),
        ("redis://[", NO_URL),
        (f"redis://:a#{SECRET}@h/0", NO_URL),
        (f"redis://:{SECRET}#b@h/0", NO_URL),
        (f"redis://:{SECRET}/b@h/0", NO_URL),
        (f"redis://:{SECRET}?b@h/0", NO_URL),
        (f"redis://:{SECRET}\u2100@h/0", NO_URL),
        (f"unix:///nowhere/s@b?password={SECRET}@", f"there is no such socket; {START}"),
        ("redis://h/x", "the database must be a number: redis://HOST:6379/0"),
        ("redis://h/0?prefix=", "?prefix= takes up to 50 letters, digits, dots, dashes and underscores"),
        ("redis://h/0?colour=red", "the URL has a part or an option that is not supported"),
        ("redis://h:x/0", "the URL has a part or an option that is not supported"),
    ],
)
def test_what_cannot_be_reached_or_read(url: str, why: str) -> None:
    assert refusal(url) == why


def test_a_redis_without_such_a_database(start_redis: Callable[..., RedisServer]) -> None:
    assert refusal(f"{start_redis().url}?db=99") == "Redis has no database with this number"


def test_a_redis_that_is_no_sentinel(start_redis: Callable[..., RedisServer]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    start_redis("--port", str(port))
    assert refusal(f"sentinel://127.0.0.1:{port}/name/0") == "what listens there is not a Sentinel"


def test_a_wrong_password(start_redis: Callable[..., RedisServer]) -> None:
    server = start_redis("--requirepass", "right")
    for url in (f"{server.url}?password={SECRET}", server.url, f"{server.url}?username=u&password={SECRET}"):
        assert refusal(url) == "the user or the password is wrong; give them as redis://USER:PASSWORD@HOST"
    assert open_client(read_address(f"{server.url}?password=right")).epoch


@pytest.fixture(params=[b"HTTP/1.1 400 Bad Request\r\n\r\n", b":5\r\n", b"*0\r\n", b"$-1\r\n"])
def odd_server(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of something that answers whatever it is sent in one way, as HTTP servers do, for example."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client, suppress(OSError):
                    while client.recv(1000):
                        client.sendall(request.param)

        threading.Thread(target=answer, daemon=True).start()
        yield listener.getsockname()[1]


def test_something_else_on_the_port(odd_server: int) -> None:
    assert refusal(f"redis://127.0.0.1:{odd_server}/0") == "what listens there does not speak Redis"


def test_a_server_that_does_not_answer(shared: RedisServer) -> None:
    shared.command("CLIENT", "PAUSE", "1400")
    assert refusal(shared.url) == f"no answer in time; {START}"


def is_free(port: int) -> bool:
    with suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def test_a_cluster(start_redis: Callable[..., RedisServer]) -> None:
    port = next(port for port in range(10_000, 22_000) if is_free(port) and is_free(port + 10_000))  # that of its bus
    server = start_redis("--cluster-enabled", "yes", "--port", str(port))
    assert refusal(server.url) == "a Redis Cluster listens there; give the URL of a single server, or of Sentinel"


def test_an_old_version(shared: RedisServer) -> None:
    found = {"redis_version": shared.command("INFO")["redis_version"]}  # type: ignore[call-overload]
    assert explain_unusable(found) is None
    assert explain_unusable({"redis_version": "6.0.16"}) == "Redis 6.0.16 listens there; 6.2 or newer is needed"
    assert [explain_unusable({"redis_version": version}) for version in ("6.2.0", "7.2", "8.0.1-rc1", "10.1")] == [
        None
    ] * 4


def test_the_state_of_another_release(shared: RedisServer) -> None:
    shared.command("SET", "mockserver:schema", "2")
    assert refusal(shared.url) == (
        "it holds the state of another release (schema 2, this one has 1); give this one its own keys with ?prefix=NAME"
    )
    assert open_client(read_address(f"{shared.url}?prefix=mine")).epoch


def test_the_epoch_stays_while_the_state_does(shared: RedisServer) -> None:
    first, again = open_client(read_address(shared.url)), open_client(read_address(shared.url))
    assert first.epoch == again.epoch
    shared.command("FLUSHALL")
    assert open_client(read_address(shared.url)).epoch != first.epoch


@pytest.mark.parametrize(
    ("policy", "memory", "warns"),
    [("allkeys-lru", "64mb", True), ("allkeys-lru", "0", False), ("noeviction", "64mb", False)],
)
def test_a_redis_that_evicts(start_redis: Callable[..., RedisServer], policy: str, memory: str, *, warns: bool) -> None:
    server = start_redis("--maxmemory", memory, "--maxmemory-policy", policy)
    warnings = open_client(read_address(server.url)).warnings
    assert warnings == (
        (f"counts may vanish: Redis evicts keys when it is full (maxmemory-policy {policy}); set noeviction",)
        if warns
        else ()
    )


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (
            ("--state", f"redis://:{SECRET}@127.0.0.1:1/0"),
            f"--state redis://127.0.0.1:1/0: connection refused; {START}",
        ),
        (("--state", f"https://:{SECRET}@h"), "--state: must be memory, or a URL such as redis://HOST:6379/0"),
        (
            ("--state", "redis://h", "--record", "once", "--cassette", "c"),
            "record is once, but recording needs one process; leave --state out",
        ),
    ],
)
def test_the_program_ends_with_one_line(flags: tuple[str, ...], why: str) -> None:
    ran = run("serve", "--port", "0", *flags)
    assert (ran.code, ran.out, ran.err) == (2, "", f"mockserver: {why}\n")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "redis" or name.startswith("redis.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    ran = run("serve", "--port", "0", "--state", "redis://h/0")
    why = f"the package redis is missing; {explain_extra('redis')}"
    assert (ran.code, ran.err) == (2, f"mockserver: --state redis://h/0: {why}\n")
