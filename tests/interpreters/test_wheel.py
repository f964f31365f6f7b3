"""The wheel runs under every Python, where nothing but its dependencies is installed."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from mockserver import __version__
from tests.release.sources import build_wheel, clean, install_wheel

pytestmark = [pytest.mark.needs("git"), pytest.mark.timeout(400)]  # they may install environments first

REQUEST = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


PAGE = """
import mockserver as package
from urllib.request import Request, urlopen

def test_it(mockserver):
    mockserver.on(last_user="hello").reply("Hi!")
    request = Request(mockserver.base_url() + "/chat/completions", REQUEST, {"content-type": "application/json"})
    assert b"Hi!" in urlopen(request).read()
    assert package.__file__.startswith(PREFIX)
"""


def test_the_wheel_runs_where_only_its_dependencies_are(wheel: Path, tmp_path: Path, python: Path) -> None:
    programs = install_wheel(wheel, tmp_path / "venv", python)

    def said(*command: str) -> str:
        found = [str(programs / command[0]), *command[1:]]
        done = subprocess.run(found, cwd=tmp_path, env=clean(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert said("mockserver", "--version") == f"mockserver, version {__version__}\n"
    said("mockserver", "init")
    assert "no mistakes" in said("mockserver", "check")
    (tmp_path / "rules.yaml").write_text('version: 1\nrules: [{when: {last_user: hello}, then: {text: "Hi!"}}]\n')
    assert said("mockserver", "ask", "hello") == "Hi!\n"
    assert len(said("mockserver", "ask", "Tell me about relational databases.").split()) > 10  # from word lists
    page = PAGE.replace("REQUEST", repr(REQUEST)).replace("PREFIX", repr(str(programs.parent)))
    (tmp_path / "test_it.py").write_text(page)
    assert "1 passed" in said("python", "-m", "pytest", "-q", "-W", "error", "test_it.py")
    answer, page_of_inspector = served(programs, tmp_path)
    assert answer["choices"][0]["message"]["content"] == "Hi!"
    assert page_of_inspector.startswith("<!doctype html>")


def served(programs: Path, folder: Path) -> tuple[Mapping[str, list[Mapping[str, Mapping[str, str]]]], str]:
    """What `mockserver serve` answers to one chat, and the inspector's page."""
    command = [str(programs / "mockserver"), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=clean(), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("mockserver listens on http://"), line + process.stderr.read()
            address = line.split()[3]
            request = Request(f"{address}/v1/chat/completions", REQUEST, {"content-type": "application/json"})
            with urlopen(request) as answer, urlopen(f"{address}/__mockserver__/") as page:
                return json.load(answer), page.read().decode()
        finally:
            process.terminate()
            process.communicate()
