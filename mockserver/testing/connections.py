"""Stops connections to providers' own servers while a test uses a mock server.

They are seen where a host's name is looked up (uvloop does that without Python's `socket`), and where TLS gets the
name: a proxy, or another resolver, hides it until then. An audit hook sees neither, and cannot be removed.
"""

import asyncio
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from fnmatch import fnmatchcase
from functools import partial, wraps
from itertools import chain, takewhile
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

from msgspec import Struct

from mockserver.cassettes.addresses import find_dialect_at
from mockserver.config.errors import ConfigError
from mockserver.dialects import discover_all
from mockserver.reports.failures import Problem, make_problem
from mockserver.server.recording.upstreams import relaying
from mockserver.testing.callers import find_test_frames, find_user_line, is_user_file, shorten_path, walk_frames
from mockserver.testing.clients import is_set_early


class BlockedConnectionError(BaseException):
    """A connection to a provider was stopped. Not an Exception, so that no client retries it and no app hides it."""


class ConnectionGuard(Struct, eq=False):
    """Stops connections to providers, except to `allowed` hosts, in all threads of this process from `start` to `stop`.

    `error` makes the exception that is raised instead; `blocked` says why, also if the app catches it.
    """

    allowed: Sequence[str] = ()
    error: Callable[[str], BaseException] = BlockedConnectionError
    blocked: list[Problem] = []

    @property
    def is_active(self) -> bool:
        """Whether it was started and not stopped since."""
        return self in _ACTIVE

    def start(self) -> None:
        """Start stopping connections."""
        if self not in _ACTIVE:
            _ACTIVE.append(self)
        for target in _list_targets():
            before = getattr(target.owner, target.name)
            if not any(before is patch.ours for patch in _PATCHES):
                ours = wraps(before)(target.wrap(before))
                _PATCHES.append(_Patch(target.owner, target.name, ours, before=vars(target.owner).get(target.name)))
                setattr(target.owner, target.name, ours)

    def stop(self) -> None:
        """Stop no more; call it again once others have undone their patches, which keep ours in use."""
        if self in _ACTIVE:
            _ACTIVE.remove(self)
        for patch in () if _ACTIVE else tuple(reversed(_PATCHES)):
            if vars(patch.owner).get(patch.name) is patch.ours:
                if patch.before is None:
                    delattr(patch.owner, patch.name)
                else:
                    setattr(patch.owner, patch.name, patch.before)
                _PATCHES.remove(patch)

    def block(self, host: str, port: object) -> BaseException:
        """Note a connection that is stopped, and return the exception to raise."""
        found = _describe_blocked(host, port, sys._getframe(1))
        if found not in self.blocked:
            self.blocked.append(found)
        return self.error(found.text)


_ACTIVE: list[ConnectionGuard] = []  # the latest last


class _Patch(Struct, frozen=True, eq=False):
    """An attribute of a module or a class that is ours; `before` is what it was there, None if it was inherited."""

    owner: Any
    name: str
    ours: Any
    before: Any


_PATCHES: list[_Patch] = []


def check_hosts(hosts: object) -> tuple[str, ...]:
    """Return the hosts that `allow_hosts` names; `*` stands for any text. Raises ConfigError."""
    found = (hosts,) if isinstance(hosts, str) else hosts
    if not isinstance(found, list | tuple) or not all(isinstance(host, str) for host in found):
        raise ConfigError(f"allow_hosts takes a list of hosts, not {hosts!r}")
    for host in found:
        if not host.strip() or set(host) & set("/:@ "):
            raise ConfigError(f'allow_hosts takes hosts, such as "api.openai.com" or "*.azure.com", not {host!r}')
    return tuple(host.lower() for host in found)


def _check(hosts: Sequence[object], port: object) -> None:
    """Raise the error of the latest guard for a provider's host that none allows."""
    if not _ACTIVE or relaying.get():
        return
    for host in hosts:
        text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
        name = text.lower().rstrip(".") if isinstance(text, str) else ""
        if name and _is_providers(name):
            patterns = (pattern for guard in _ACTIVE for pattern in guard.allowed)
            if not any(fnmatchcase(name, pattern) for pattern in patterns):
                raise _ACTIVE[-1].block(name, port)


def _is_providers(host: str) -> bool:
    return find_dialect_at(host) is not None or any(fnmatchcase(host, pattern) for pattern in _OTHERS)


class _Target(NamedTuple):
    """A function to patch: the module or class that has it, its name, and what makes ours of it."""

    owner: Any
    name: str
    wrap: Callable[[Any], Any]


def _list_targets() -> Iterator[_Target]:
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        yield _Target(socket, name, partial(_check_before, lambda host=None, port=None, *_, **__: ((host,), port)))
    for name in ("connect", "connect_ex"):
        yield _Target(socket.socket, name, partial(_check_before, _read_address))
    yield _Target(asyncio.BaseEventLoop, "getaddrinfo", _check_in_loop)
    yield _Target(ssl.SSLContext, "wrap_socket", _check_and_close)
    yield _Target(ssl.SSLContext, "wrap_bio", partial(_check_before, _read_tls))
    if (uvloop := sys.modules.get("uvloop")) is not None:
        look_up = partial(_check_before, lambda _, host=None, port=None, **__: ((host,), port))
        yield _Target(uvloop.Loop, "getaddrinfo", look_up)
        yield _Target(uvloop.Loop, "create_connection", partial(_check_before, _read_connection))
        yield _Target(uvloop.Loop, "start_tls", partial(_check_before, _read_tls))


Hosts = tuple[Sequence[object], object]  # names that may be a provider's, and the port


def _check_before(address: Callable[..., Hosts], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        _check(*address(*args, **named))
        return function(*args, **named)

    return call


def _check_in_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return asyncio's function with a check. It uses a thread, where relayed requests need their context."""

    def call(loop: asyncio.BaseEventLoop, host: Any, port: Any, **named: Any) -> Any:
        _check((host,), port)
        if not relaying.get():
            return function(loop, host, port, **named)
        return loop.run_in_executor(None, partial(copy_context().run, partial(socket.getaddrinfo, host, port, **named)))

    return call


def _check_and_close(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a check that closes a connection through a proxy, as few clients would for its error."""

    def call(context: ssl.SSLContext, sock: socket.socket, *args: Any, **named: Any) -> Any:
        try:
            _check(*_read_tls(*args, **named))
        except BaseException:
            sock.close()
            raise
        return function(context, sock, *args, **named)

    return call


def _read_connection(_: object, __: object = None, host: object = None, port: object = None, **more: object) -> Hosts:
    return (host, more.get("server_hostname")), port


def _read_tls(*args: object, server_hostname: object = None, **_: object) -> Hosts:
    return (server_hostname, *(each for each in args if isinstance(each, str))), None  # the name is the only text


def _read_address(_: object, address: object) -> Hosts:
    """Return the host and port of an address of IP; others are paths and numbers."""
    return ((address[0],), address[1]) if isinstance(address, tuple) and len(address) > 1 else ((), None)


def _describe_blocked(host: str, port: object, frame: FrameType) -> Problem:
    """Return what was stopped, where in the user's code, and how to go on."""
    frames = list(find_test_frames(frame))
    inner = takewhile(lambda each: each.f_code.co_name not in _LOOPS or is_user_file(each.f_code.co_filename), frames)
    line = find_user_line(chain(inner, _find_waiting_frames(frames), frames))
    where = (host if port is None else f"{host}:{port}") + (f" at {line}" if line else "")
    return make_problem(f"stopped a connection to {where}", [*_give_advice(host, frames), f'{_ALLOW}["{host}"]'])


def _find_waiting_frames(frames: Sequence[FrameType]) -> Iterator[FrameType]:
    """Yield the frames of the tasks that wait for this task, or for this thread, each innermost first."""
    for each in frames:  # of an executor
        yield from _walk_waiters(getattr(each.f_locals.get("self"), "future", None), set())
    with suppress(RuntimeError):  # there is no loop in this thread
        yield from _walk_waiters(asyncio.current_task(), set())


def _walk_waiters(future: Any, seen: set[int]) -> Iterator[FrameType]:
    seen.add(id(future))
    callbacks = [each[0] for each in getattr(future, "_callbacks", None) or ()]
    for callback in (*callbacks, *getattr(future, "_done_callbacks", ())):
        cells = getattr(callback, "__closure__", None) or ()
        held = (getattr(callback, "__self__", None), *getattr(callback, "args", ()), *(_read_cell(x) for x in cells))
        for waiter in (getattr(each, "_parent_task", each) for each in held):  # of a TaskGroup
            if isinstance(waiter, asyncio.Future) and id(waiter) not in seen:
                if isinstance(waiter, asyncio.Task):
                    yield from reversed(list(_walk_coroutine(waiter.get_coro())))
                yield from _walk_waiters(waiter, seen)
            elif isinstance(waiter, Future):  # of run_coroutine_threadsafe
                yield from _walk_threads(waiter)


def _walk_threads(future: object) -> Iterator[FrameType]:
    """Yield the frames of the other threads that use a future."""
    for thread, frame in sys._current_frames().items():
        frames = list(walk_frames(frame)) if thread != get_ident() else []
        if any(value is future for each in frames for value in tuple(each.f_locals.values())):
            yield from frames


def _read_cell(cell: Any) -> object:
    with suppress(ValueError):  # it is empty
        return cell.cell_contents
    return None


def _walk_coroutine(coroutine: Any) -> Iterator[FrameType]:
    while (frame := getattr(coroutine, "cr_frame", getattr(coroutine, "gi_frame", None))) is not None:
        yield frame
        coroutine = getattr(coroutine, "cr_await", getattr(coroutine, "gi_yieldfrom", None))


_LOOPS = ("run_forever", "run_until_complete", "run")  # functions that run an event loop, or a thread
_ALLOW = "to let it connect: allow_hosts="


def _give_advice(host: str, frames: Sequence[FrameType]) -> Iterator[str]:
    spoken = discover_all().get(find_dialect_at(host) or "")
    if spoken is None:
        yield "if its client speaks OpenAI's API: set its URL to mockserver.base_url()"
        yield "otherwise: replace the client in the test, as no dialect of mockserver serves this provider"
        return
    base = "mockserver.base_url()" if spoken.name == "openai" else f'mockserver.base_url("{spoken.label}")'
    variable = next((name for name, text in spoken.variables.items() if "{address}" in text), "")
    based = any(_find_base_url(each.f_locals.get("self")) for each in frames)
    early = bool(variable) and based and not is_set_early(variable)  # a bare request has no client, and no base URL
    if early:
        yield f"if {_find_client_name(frames) or 'the client'} was created before the test set {variable}:"
        yield "  create it in the test, or set mockserver_env = session in pytest's ini file"
    if spoken.base:
        yield f"the provider's own client reads no variable for its URL: let the test pass it {base}"
        return
    yield f"{'else ' if early else ''}its URL is set by the app: let the test set it to {base}"


def _find_base_url(client: object) -> str:
    """Return the base URL of an official client; google-genai's has it in its options."""
    return str(getattr(client, "_base_url", None) or getattr(getattr(client, "_http_options", None), "base_url", ""))


def _find_client_name(frames: Sequence[FrameType]) -> str:
    """Return the variable of a user's module whose object is at work in these frames; empty if there is none."""
    at_work = {id(each.f_locals["self"]) for each in frames if "self" in each.f_locals}
    for module in tuple(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        for name, value in tuple(vars(module).items()) if is_user_file(file) else ():
            if id(value) in at_work:
                return f"`{name}` of {shorten_path(file)}"
    return ""


# The hosts of well-known providers that no dialect serves.
# fmt: off
_OTHERS = (
    "api.anthropic.com", "generativelanguage.googleapis.com", "aiplatform.googleapis.com",
    "*-aiplatform.googleapis.com", "bedrock*.*.amazonaws.com", "*.inference.ai.azure.com",
    "*.cognitiveservices.azure.com", "openrouter.ai", "api.mistral.ai", "codestral.mistral.ai", "api.groq.com",
    "api.together.xyz", "api.together.ai", "api.deepseek.com", "api.x.ai", "*.api.x.ai", "api.perplexity.ai",
    "router.huggingface.co", "api-inference.huggingface.co", "*.endpoints.huggingface.cloud", "api.ai21.com",
    "api.replicate.com", "api.cerebras.ai", "api.sambanova.ai", "integrate.api.nvidia.com", "api.deepinfra.com",
    "api.novita.ai", "api.hyperbolic.xyz", "api.studio.nebius.*", "api.tokenfactory.nebius.com", "api.moonshot.*",
    "dashscope*.aliyuncs.com", "open.bigmodel.cn", "api.z.ai", "api.minimax.io", "api.minimaxi.com",
    "ark.*.volces.com", "api.siliconflow.*", "gateway.ai.cloudflare.com", "ai-gateway.vercel.sh",
    "api.githubcopilot.com", "*.ml.cloud.ibm.com", "api.aimlapi.com", "inference.baseten.co", "api.friendli.ai",
    "api.upstage.ai", "api.writer.com", "ollama.com",
)
# fmt: on
