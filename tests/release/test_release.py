"""The version has one place, the tag and the changelog agree with it, and the SBOM lists what is installed."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from mockserver import __version__

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = re.compile(r'^(__version__ =|  "version":) ".+"', re.MULTILINE)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def release(*words: str, root: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(root / ".ci" / "release.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_newest_section_is_of_this_version_or_unreleased() -> None:
    title, *older = SECTION.findall(CHANGELOG)
    assert title == "Unreleased" or re.fullmatch(rf"{re.escape(__version__)} - \d{{4}}-\d\d-\d\d", title)
    assert [name for name in older if not re.fullmatch(r"\d+\.\d+\.\d+\S* - \d{4}-\d\d-\d\d", name)] == []


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A project whose version is 0.1.0, released on the first of December."""
    for name in (".ci/release.py", "mockserver/__init__.py", "clients/js/package.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(VERSION.sub(r"\1 " + '"0.1.0"', (ROOT / name).read_text()))
    (tmp_path / "CHANGELOG.md").write_text(SECTION.sub("## 0.1.0 - 2026-12-01", CHANGELOG, count=1))
    return tmp_path


def test_a_tag_that_agrees(released: Path) -> None:
    done = release("check", "v0.1.0", root=released)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_tag(released: Path) -> None:
    done = release("check", "v0.1.1", root=released)
    assert (done.returncode, done.stderr) == (1, "the tag is v0.1.1, but mockserver/__init__.py says 0.1.0\n")


def test_a_package_of_another_version(released: Path) -> None:
    (released / "clients/js/package.json").write_text('{"version": "0.1.1"}')
    done = release("check", "v0.1.0", root=released)
    told = "clients/js/package.json says 0.1.1, but mockserver/__init__.py says 0.1.0\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize("title", ["Unreleased", "0.1.0", "0.0.9 - 2026-12-01"])
def test_a_changelog_of_another_version(released: Path, title: str) -> None:
    (released / "CHANGELOG.md").write_text(SECTION.sub(f"## {title}", CHANGELOG, count=1))
    done = release("check", "v0.1.0", root=released)
    told = f'the newest section of CHANGELOG.md is "{title}"; call it "0.1.0 - YYYY-MM-DD"\n'
    assert (done.returncode, done.stderr) == (1, told)


def test_notes_are_the_newest_section(released: Path) -> None:
    (released / "CHANGELOG.md").write_text("# Changelog\n\n## 2\n\n- new\n\n### Breaking\n\n- more\n\n## 1\n\n- old\n")
    assert release("notes", root=released).stdout == "- new\n\n### Breaking\n\n- more\n"


def test_the_sbom_lists_what_an_install_brings() -> None:
    """Of this environment, where more is installed than mockserver needs."""
    found = json.loads(release("sbom", str(Path(distribution("click").locate_file("")))).stdout)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["purl"] == f"pkg:pypi/mockserver-llm@{distribution('mockserver-llm').version}"
    listed = {each["name"]: each["version"] for each in found["components"]}
    assert {"click", "starlette", "uvicorn", "h11"} <= listed.keys()  # the last is uvicorn's
    assert not {"pytest", "redis", "tiktoken", "mockserver-llm"} & listed.keys()
    assert listed["click"] == distribution("click").version
    refs = {each["bom-ref"] for each in found["components"]} | {found["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in found["dependencies"]} == refs
    assert {ref for each in found["dependencies"] for ref in each["dependsOn"]} < refs
