"""The package is imported and serves where Windows' Python lacks something: uvloop, fcntl, fork, signals, poll.

A process of Linux without these is not Windows: .github/workflows/test.yml runs on that.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.release.sources import ROOT, clean

LACKING = """
import asyncio, importlib, os, pkgutil, select, signal, sys

def modules():
    import mockserver
    found = pkgutil.walk_packages(mockserver.__path__, "mockserver.")
    return [each.name for each in found if not each.name.endswith("__main__")]

for name in modules():  # and with them what others made, which knows Linux
    importlib.import_module(name)
import uvicorn.loops.auto, uvicorn.loops.asyncio
for name in [name for name in sys.modules if name.partition(".")[0] == "mockserver"]:
    del sys.modules[name]

sys.platform = "win32"
for name in ("fcntl", "termios", "resource", "pwd", "grp", "uvloop", "uvicorn.loops.uvloop"):
    sys.modules[name] = None
for module, names in {
    os: ("fork", "killpg", "getpgrp", "tcgetpgrp", "setsid", "getuid", "O_NOFOLLOW", "O_DIRECTORY"),
    signal: ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGALRM", "pthread_kill", "setitimer"),
    select: ("poll", "epoll"),
}.items():
    for name in names:
        delattr(module, name)
asyncio.ProactorEventLoop = asyncio.SelectorEventLoop

for name in modules():
    importlib.import_module(name)
"""
SERVES = """
from urllib.request import Request, urlopen
from mockserver.server.run import Running
from mockserver.cli.child_process import _is_foreground
from tests.kit.local import local

assert _is_foreground()  # a console's Ctrl-C reaches the child, and no other signal can be sent to it
with Running(local(port=0).live) as running:
    assert "uvloop" not in repr(running)
    for stream in (b"false", b"true"):
        content = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": ' + stream + b"}"
        request = Request(running.address + "/v1/chat/completions", content, {"content-type": "application/json"})
        print(urlopen(request).status)
"""
COMMAND = """
from mockserver.cli import main
main(sys.argv[1:])
"""


def without(script: str, folder: Path, *words: str) -> str:
    environ = clean() | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LACKING + script, *words]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_answers(tmp_path: Path) -> None:
    assert without(SERVES, tmp_path) == "200\n200\n"


@pytest.mark.slow
def test_files_are_written_in_utf_8(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [{then: {text: Grüße 世界}}]", "utf-8")
    printed = """
import os
from mockserver.cli import main
assert sys.stdout.encoding == "cp1252", sys.stdout.encoding
del os.environ["PYTHONIOENCODING"]
main()
"""
    environ = clean() | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-c", LACKING + printed, "ask", "hello"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "Grüße 世界\n"), done.stderr


@pytest.mark.slow
def test_commands_work(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: [{when: {last_user: hello}, then: {text: 'Hi!'}}]\n")
    assert without(COMMAND, tmp_path, "--version").startswith("mockserver, version ")
    assert without(COMMAND, tmp_path, "ask", "hello").startswith("Hi!\n")
    assert "no mistakes" in without(COMMAND, tmp_path, "check")
    run = ("run", "--", sys.executable, "-c", "import os; print(os.environ['MOCKSERVER_URL'])")
    assert without(COMMAND, tmp_path, *run).startswith("http://127.0.0.1:")
