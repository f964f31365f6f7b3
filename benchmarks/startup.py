"""How long it takes until a server answers and until commands have run, beside a bare uvicorn and starlette app.

Seconds of CPU: on a machine without other work, these are the seconds on the clock. All take turns, and the least of
each counts. Without bytecode means a copy of mockserver that Python may not compile to files, as in many images; the
libraries have theirs, as pip installs them. Every ratio is to the bare app with bytecode.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path

from load import cpu_seconds, free_port, post

ROOT = Path(__file__).parents[1]
TURNS = 7
REQUEST = post("/v1/chat/completions", b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}')
BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def chat(request):
    await request.json()
    return JSONResponse({"choices": []})

app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
"""
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "ask": ("-m", "mockserver", "ask", "hello"),
    "check": ("-m", "mockserver", "check", "rules.yaml"),
    "--help": ("-m", "mockserver", "--help"),
    "import mockserver.testing": ("-c", "import mockserver.testing"),
}


def startup() -> Mapping[str, float]:
    """Seconds of the bare app to its first answer, and what each of ours takes, divided by that."""
    compiled = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "mockserver", Path(folder, "mockserver"), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "rules.yaml", folder)
        source = {**compiled, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": folder}
        runs: dict[str, Callable[[], float]] = {"bare": lambda: _answered("-c", BARE, env=compiled, cwd=str(ROOT))}
        for where, env, cwd in (("", compiled, str(ROOT)), (", no bytecode", source, folder)):
            runs[f"serve{where}"] = lambda env=env, cwd=cwd: _answered(*_SERVE, env=env, cwd=cwd)  # type: ignore[misc]
            for name, words in COMMANDS.items():
                runs[f"{name}{where}"] = lambda words=words, env=env, cwd=cwd: _ran(*words, env=env, cwd=cwd)  # type: ignore[misc]
        least = dict.fromkeys(runs, inf)
        for turn in range(TURNS + 1):
            for name, run in runs.items():
                took = run()
                least[name] = min(least[name], took) if turn else inf  # the first turn writes bytecode
    bare = least.pop("bare")
    ratios = {f"{name} / bare to its first answer": took / bare for name, took in least.items()}
    return {
        "seconds of bare to its first answer": bare,
        "seconds of serve to its first answer": least["serve"],
        **ratios,
    }


_SERVE = ("-m", "mockserver", "serve", "rules.yaml", "--port")


def _answered(*words: str, env: Mapping[str, str], cwd: str) -> float:
    """Seconds until a server, whose port is the last word, has answered a chat."""
    port = free_port()
    process = subprocess.Popen([sys.executable, *words, str(port)], env=env, cwd=cwd, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    sock.sendall(REQUEST)
                    if not sock.recv(1 << 16).startswith(b"HTTP/1.1 200"):
                        raise RuntimeError("the server does not answer 200")
                    return cpu_seconds(process.pid)
            except OSError:
                time.sleep(0.002)
        raise RuntimeError("the server ended")
    finally:
        process.kill()
        process.wait()


def _ran(*words: str, env: Mapping[str, str], cwd: str) -> float:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *words], env=env, cwd=cwd, **quiet)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime
