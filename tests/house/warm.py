"""Processes that have imported everything beforehand and fork for each command: pages that hold many are read sooner.

`warm(folder)` starts them and gives a folder of programs, to be looked through first: a `mockserver`, a `python` and a
`pytest`. That python has imported what others made, and none of ours: scripts may change tables before these are looked
at.
What keeps running (`mockserver serve`) gets a process of its own from the start.
"""

import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = """#!{python} -IS
import json, os, socket, sys
program, argv = os.path.basename(sys.argv[0]), sys.argv[1:]
first = argv[0] if argv else ""
if first == "serve" or (program == "python" and first != "-c" and not first.endswith(".py")):
    real = os.path.join({real!r}, program)
    os.execv(real, [real, *argv])
there = socket.socket(socket.AF_UNIX)
there.connect({address!r})
socket.send_fds(there, [b"."], [0, 1, 2])
there.sendall(json.dumps([program, argv, os.getcwd(), dict(os.environ)]).encode())
there.shutdown(socket.SHUT_WR)
sys.exit(int(there.recv(16) or 1))
"""
OTHER_MODULES = (
    "openai.resources.chat", "httpcore", "httpcore2", "h11", "pydantic", "faker", "jsonschema_rs", "click", "yaml",
    "starlette.applications", "uvicorn", "uvloop",
)  # fmt: skip


@contextmanager
def warm(folder: Path) -> Iterator[Path]:
    """A folder with the programs, for as long as their process runs."""
    (folder / "programs").mkdir()
    with ExitStack() as stack:
        for name in ("mockserver", "python", "pytest"):
            stack.enter_context(_started(name, folder))
        yield folder / "programs"


@contextmanager
def _started(program: str, folder: Path) -> Iterator[None]:
    address, real = str(folder / program), str(Path(sys.executable).parent)
    command = [sys.executable, "-m", "tests.house.warm", program, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (folder / "programs" / program).write_text(PROGRAM.format(python=sys.executable, real=real, address=address))
        (folder / "programs" / program).chmod(0o755)
        try:
            yield
        finally:
            process.terminate()


def main(program: str, address: str) -> None:
    """Import everything, then fork for each command that comes in."""
    import_all(ours=program != "python")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            code = _done(connection)
            connection.sendall(str(code).encode())
            os._exit(0)
        connection.close()


def import_all(*, ours: bool = True) -> None:
    """Import what takes time, and all that is ours."""
    for module in (*OTHER_MODULES, *(_ours() if ours else ())):
        importlib.import_module(module)


def _ours() -> Iterator[str]:
    modules = pkgutil.walk_packages(importlib.import_module("mockserver").__path__, "mockserver.")
    return (found.name for found in modules if not found.name.endswith(("__main__", "pytest_plugin")))


def _done(connection: socket.socket) -> int:
    """Do what a program was asked for; its exit code."""
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
        return _code(end)
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
    elif program == "pytest":
        sys.exit(int(pytest.main([*argv])))
    else:
        sys.argv = [program, *argv]
        runpy.run_module("mockserver", run_name="__main__")


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    sys.stderr.write(f"{end.code}\n")
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])
