"""The wheel and the sdist hold the package and nothing else; tests/interpreters runs the wheel."""

import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from mockserver import __version__
from tests.release.sources import copy_sources, tool, tracked

pytestmark = [pytest.mark.slow, pytest.mark.needs("git")]

# What a working folder may hold that is nobody's business.
STRAY = (
    "cassettes/customer.yaml", "clients/js/node_modules/x/index.js", ".env", "rules.local.yaml", "notes.txt",
    "mockserver/__pycache__/cli.cpython-311.pyc", "mockserver/.mypy_cache/chat.json", "dist/old.whl",
)  # fmt: skip
# Besides the package.
TOP = {"PKG-INFO", ".gitignore", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}


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
    names = {f"mockserver_llm-{__version__}-py3-none-any.whl", f"mockserver_llm-{__version__}.tar.gz"}
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
    about = f"mockserver_llm-{__version__}.dist-info"
    described = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    package = {name for name in tracked() if name.startswith("mockserver/")}
    assert names == package | {f"{about}/{name}" for name in described}
    assert {Path(name).suffix for name in package} >= {".py", ".typed", ".txt", ".toml", ".lua", ".html", ".mjs"}
    assert wheel.stat().st_size < 2_000_000


def test_tools_find_nothing_wrong(built: Path) -> None:
    files = [str(path) for path in built.iterdir()]
    assert "PASSED" in tool(built, "twine", "check", "--strict", *files)
    assert tool(built, "check_wheel_contents", str(wheel_of(built))).endswith(": OK\n")
