"""Processes that have imported everything beforehand and fork for each command: pages that hold many are read sooner.

`start_warm(folder)` starts them and gives a folder of programs, to be looked through first: a `mockserver`, a `python`
and a `pytest`. That python has imported what others made, and none of ours: scripts may change tables before these are
looked at. The other two, and `python -m pytest`, are answered by a fork of it that has imported all that is ours, too.
Signals are passed on to what answers, as `mockserver serve` ends by one.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
program, argv = os.path.basename(sys.argv[0]), sys.argv[1:]
if program == "python" and argv[:2] == ["-m", "pytest"]:
    program, argv = "python -m pytest", argv[2:]
if program == "python" and argv[0] != "-c" and not argv[0].endswith(".py"):
    os.execv({python!r}, [{python!r}, *argv])
there = socket.socket(socket.AF_UNIX)
there.connect({folder!r} + ("/others" if program == "python" else "/ours"))
socket.send_fds(there, [b"."], [0, 1, 2])
there.sendall(json.dumps([program, argv, os.getcwd(), dict(os.environ)]).encode())
there.shutdown(socket.SHUT_WR)
pid = int.from_bytes(there.recv(4), "big")
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda number, frame: os.kill(pid, number))
sys.exit(int(there.recv(16) or 1))
"""
OTHER_MODULES = (
    "openai.resources.chat", "httpcore", "httpcore2", "h11", "pydantic", "faker", "jsonschema_rs", "click", "yaml",
    "starlette.applications", "uvicorn", "uvloop",
)  # fmt: skip


@contextmanager
def start_warm(folder: Path, *modules: str) -> Iterator[Path]:
    """Yield a folder with the programs, for as long as their processes run; `modules` are imported beforehand, too."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("mockserver", "python", "pytest"):
        (programs / name).write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        (programs / name).chmod(0o755)
    command = [sys.executable, "-m", "tests.house.warm", str(folder), *modules]
    pipe = subprocess.PIPE  # the input of the processes ends with this one, however that ends
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield programs
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def main(folder: str, *modules: str) -> None:
    """Import everything, then fork for each command that comes in."""
    gc.disable()  # what is imported stays, and forks share it for as long as nobody looks through it
    others, ours = _open_listener(f"{folder}/others"), _open_listener(f"{folder}/ours")
    _import(OTHER_MODULES + modules)
    print("ready", flush=True)
    if os.fork() == 0:
        _import(_list_own_modules())
        _serve(ours)
    else:
        _serve(others)


def _open_listener(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


def import_all() -> None:
    """Import what takes time, and all that is ours."""
    _import(OTHER_MODULES)
    _import(_list_own_modules())


def _import(modules: Iterable[str]) -> None:
    for module in modules:
        importlib.import_module(module)


def _serve(listener: socket.socket) -> NoReturn:
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            connection.sendall(os.getpid().to_bytes(4, "big"))
            code = _answer(connection)
            connection.sendall(str(code).encode())
            os._exit(0)
        connection.close()


def _list_own_modules() -> Iterator[str]:
    modules = pkgutil.walk_packages(importlib.import_module("mockserver").__path__, "mockserver.")
    return (found.name for found in modules if not found.name.endswith(("__main__", "pytest_plugin")))


def _answer(connection: socket.socket) -> int:
    """Do what a program was asked for, and return its exit code."""
    _, handed, *_ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as asked:
        program, argv, folder, environment = json.loads(asked.read())
    for ours, theirs in enumerate(handed):
        os.dup2(theirs, ours)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    try:
        _run(program, argv)
    except SystemExit as end:
        return _find_exit_code(end)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _run(program: str, argv: Sequence[str]) -> None:
    if program == "python":
        script = sys.modules["__main__"] = ModuleType("__main__")
        if argv[0] == "-c":
            sys.argv, sys.path[:0] = ["-c", *argv[2:]], [""]
            text, name = argv[1], "<string>"
        else:
            text, name = Path(argv[0]).read_text(), os.path.abspath(argv[0])
            sys.argv, sys.path[:0] = [*argv], [os.path.dirname(name)]
            script.__file__ = name
        exec(compile(text, name, "exec"), script.__dict__)
    elif program.endswith("pytest"):
        sys.path[:0] = [os.getcwd()] if program.startswith("python") else []
        sys.exit(int(pytest.main([*argv])))
    else:
        sys.argv = [program, *argv]
        runpy.run_module("mockserver", run_name="__main__")


def _find_exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    sys.stderr.write(f"{end.code}\n")
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])
