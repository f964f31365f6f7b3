"""The wheel and the sdist hold the package and nothing else, and the wheel runs where nothing else is installed."""

import json
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from urllib.request import Request, urlopen
from zipfile import ZipFile

import pytest

from mockserver import __version__
from tests.determinism.interpreters import RUNNING, environment, others
from tests.release.sources import clean, copy_sources, tool, tracked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]  # they may install environments first

# What a working folder may hold that is nobody's business.
STRAY = (
    *("cassettes/customer.yaml", "clients/js/node_modules/x/index.js", ".env", "rules.local.yaml", "notes.txt"),
    *("mockserver/__pycache__/cli.cpython-311.pyc", "mockserver/.index/chat.json", "dist/old.whl"),
)
# Besides the package.
TOP = {"PKG-INFO", ".gitignore", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
REQUEST = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel and an sdist, made from what git has and some files that it has not."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    copy_sources(source)
    for name in STRAY:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("private\n")
    tool(source, "build", "--no-isolation", "--outdir", str(target), ".")
    return target


def wheel_of(built: Path) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


def test_there_is_a_wheel_for_all_and_an_sdist(built: Path) -> None:
    names = {f"mockserver-{__version__}-py3-none-any.whl", f"mockserver-{__version__}.tar.gz"}
    assert {path.name for path in built.iterdir()} == names


def test_the_sdist_holds_the_package_as_git_has_it(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert found == TOP | {name for name in tracked() if name.startswith("mockserver/")}
    assert sdist.stat().st_size < 2_000_000


def test_the_wheel_holds_the_package_and_its_data(built: Path) -> None:
    wheel = wheel_of(built)
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = f"mockserver-{__version__}.dist-info"
    described = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    package = {name for name in tracked() if name.startswith("mockserver/")}
    assert names == package | {f"{about}/{name}" for name in described}
    assert {Path(name).suffix for name in package} >= {".py", ".typed", ".txt", ".toml", ".lua", ".html", ".mjs"}
    assert wheel.stat().st_size < 1_500_000


def test_tools_find_nothing_wrong(built: Path) -> None:
    files = [str(path) for path in built.iterdir()]
    assert "PASSED" in tool(built, "twine", "check", "--strict", *files)
    assert tool(built, "check_wheel_contents", str(wheel_of(built))).endswith(": OK\n")


PAGE = """
import mockserver as package
from urllib.request import Request, urlopen

def test_it(mockserver):
    mockserver.on(last_user="hello").reply("Hi!")
    request = Request(mockserver.base_url() + "/chat/completions", REQUEST, {"content-type": "application/json"})
    assert b"Hi!" in urlopen(request).read()
    assert package.__file__.startswith(PREFIX)
"""


@pytest.mark.parametrize("version", [RUNNING, *others()])
def test_the_wheel_runs_where_only_its_dependencies_are(built: Path, tmp_path: Path, version: str) -> None:
    programs = installed(wheel_of(built), tmp_path / "venv", version)

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


def installed(wheel: Path, folder: Path, version: str) -> Path:
    """The programs of an environment with the wheel; those of its dependencies are borrowed from another one."""
    dependencies = environment(version)
    subprocess.run([dependencies, "-m", "venv", "--without-pip", folder], check=True)
    (found,) = folder.glob("lib/python*/site-packages")
    (borrowed,) = dependencies.parents[1].glob("lib/python*/site-packages")
    (found / "dependencies.pth").write_text(f"{borrowed}\n")
    python = str(folder / "bin" / "python")
    tool(folder, "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel))
    return folder / "bin"


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
