"""PyPI's `mockserver-client` beside our wheel: what is broken says so, and what to do helps."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from mockserver.core.namesake import OVERWRITTEN
from tests.house.pages import PLAIN
from tests.release.sources import build_wheel, clean, install_wheel, pip_install, pip_uninstall

pytestmark = [pytest.mark.slow, pytest.mark.needs("git"), pytest.mark.timeout(400)]  # a score of processes

ABOUT = "mockserver_client-9.2.0.dist-info"
# What the other package has in the same places, as far as it matters.
THEIRS = {
    "mockserver/__init__.py": "from mockserver.client import MockServerClient\n",
    "mockserver/client.py": "class MockServerClient: ...\n",
    "mockserver/py.typed": "",
    "mockserver/pytest_plugin.py": (
        "import pytest\n\n@pytest.fixture\ndef mockserver():\n    raise AssertionError('this is the other fixture')\n"
    ),
    f"{ABOUT}/METADATA": "Metadata-Version: 2.4\nName: mockserver-client\nVersion: 9.2.0\n",
    f"{ABOUT}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{ABOUT}/entry_points.txt": "[pytest11]\nmockserver = mockserver.pytest_plugin\n",
}
TESTS = """
def test_with_the_fixture(mockserver):
    mockserver.on().reply("Hi!")
    assert mockserver.client().chat.completions.create(model="m", messages=[]).choices

def test_without(): ...
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("theirs") / "mockserver_client-9.2.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name, text in THEIRS.items():
            archive.writestr(name, text)
        archive.writestr(f"{ABOUT}/RECORD", "".join(f"{name},,\n" for name in (*THEIRS, f"{ABOUT}/RECORD")))
    return path


class Installed:
    """An environment that begins with a wheel."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.programs, self._folder = install_wheel(wheel, folder / "venv", Path(sys.executable)), folder
        (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {PLAIN} -p no:faker -p no:respx\n")
        (folder / "test_it.py").write_text(TESTS.replace("messages=[]", 'messages=[{"role": "user", "content": "x"}]'))

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        words = [str(self.programs / command[0]), *command[1:]]
        return subprocess.run(words, cwd=self._folder, env=clean(), capture_output=True, text=True, check=False)

    def check_that_it_works(self) -> None:
        assert self.run("mockserver", "ask", "hello").returncode == 0
        tested = self.run("python", "-m", "pytest", "-q")
        assert "2 passed" in tested.stdout, tested.stdout + tested.stderr
        assert "mockserver-client" not in tested.stdout

    def check_that_it_says_what_happened(self) -> None:
        for command in (["mockserver", "ask", "hello"], ["python", "-m", "mockserver", "serve"]):
            done = self.run(*command)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mockserver: {OVERWRITTEN}\n")
        tested = self.run("python", "-m", "pytest", "-q", "--tb=short")
        assert "1 passed, 1 error" in tested.stdout, tested.stdout + tested.stderr
        assert tested.stdout.splitlines().count(f"mockserver: {OVERWRITTEN}") == 2  # of the fixture, and of the plugin
        (last,) = self.run("python", "-c", "import mockserver.testing").stderr.splitlines()[-1:]
        assert last == f"ImportError: {OVERWRITTEN}"


def test_each_is_installed_over_the_other(wheel: Path, theirs: Path, tmp_path: Path) -> None:
    ours = Installed(theirs, tmp_path)
    pip_install(ours.programs, wheel, "--ignore-installed")
    ours.check_that_it_works()
    pip_uninstall(ours.programs, "mockserver-client")
    ours.check_that_it_says_what_happened()
    pip_install(ours.programs, wheel, "--force-reinstall")
    ours.check_that_it_works()
    pip_install(ours.programs, theirs)
    ours.check_that_it_says_what_happened()
    pip_uninstall(ours.programs, "mockserver-client")
    ours.check_that_it_says_what_happened()
