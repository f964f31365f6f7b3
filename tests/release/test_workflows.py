"""The workflows name only what is there and keep to their schemas. The steps of a build are run as GitHub runs them."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from tests.release.sources import ROOT, copy_sources, tool

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
VERSIONS = {found[1] for each in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", each))}

Step = Mapping[str, Any]


def jobs(workflow: Path) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return found


def steps(*workflows: Path) -> Iterator[Step]:
    """The steps of all jobs; a job that is another workflow is one, too."""
    for workflow in workflows:
        for job in jobs(workflow).values():
            yield from job.get("steps", [job])


def missing(step: Step) -> Iterator[str]:
    """What a step names and the repository has not."""
    folder = ROOT / step.get("working-directory", ".")
    if not folder.is_dir():
        yield str(folder)
    if "uses" in step:
        local = step["uses"].startswith("./")
        if local and not any((ROOT / step["uses"] / name).is_file() for name in ("action.yml", ".")):
            yield step["uses"]
        if not local and not re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+)*", step["uses"]):
            yield f"{step['uses']} has no version"
    for line in step.get("run", "").splitlines():
        yield from (f"make {target}" for target in made(line) if target not in TARGETS)
        for word in shlex.split(line, comments=True):
            if re.match(r"(tests|\.ci|clients|examples)/|[\w-]+\.(yaml|txt)$", word) and not (folder / word).exists():
                yield word
            extras = re.fullmatch(r"\.\[(.+)\]", word)
            yield from (
                (f"extra {name}" for name in extras[1].split(",") if extras and not extra(name)) if extras else ()
            )


def made(line: str) -> list[str]:
    found = re.match(r"make (.+)", line)
    return [word for word in found[1].split() if "=" not in word] if found else []


def extra(name: str) -> bool:
    return name in PROJECT["optional-dependencies"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_workflows_name_is_there(workflow: Path) -> None:
    found = list(steps(workflow))
    assert len(found) > 3
    assert [name for step in found for name in missing(step)] == []


def test_planted_mistakes_are_found() -> None:
    run = "make tset PYTHON=python\npip install '.[metrics,tokenz]'\npytest tests/cor  # tests/no\n.ci/runs"
    planted = [{"uses": "actions/checkout@main"}, {"uses": "./nowhere"}, {"run": run}]
    found = [name for step in planted for name in missing(step)]
    assert found == [
        "actions/checkout@main has no version",
        "./nowhere",
        "make tset",
        "extra tokenz",
        "tests/cor",
        ".ci/runs",
    ]


def test_they_keep_to_the_schemas() -> None:
    told = tool(ROOT, "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS))
    told += tool(ROOT, "check_jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")
    assert told.count("ok -- validation done") == 2


@pytest.mark.needs("bash")
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_their_scripts_are_bash(workflow: Path) -> None:
    for step in steps(workflow):
        done = subprocess.run(["bash", "-n"], input=step.get("run", ""), capture_output=True, text=True, check=False)
        assert done.stderr == ""


def test_all_versions_and_systems_are_tested() -> None:
    found = jobs(ROOT / ".github" / "workflows" / "test.yml")
    linux, others = (found[name]["strategy"]["matrix"] for name in ("linux", "others"))
    image = found["all"]["container"]
    assert {*linux["python"], re.findall(r"^python:(3\.\d+)-", image)[0]} == VERSIONS
    assert set(others["python"]) == {min(VERSIONS), max(VERSIONS)}
    assert others["system"] == ["macos-latest", "windows-latest"]


def test_nothing_is_published_untested() -> None:
    found = jobs(ROOT / ".github" / "workflows" / "publish.yml")
    assert found["test"]["uses"] == "./.github/workflows/test.yml"
    for name in ("pypi", "npm"):
        assert set(found[name]["needs"]) == {"test", "build"}
        assert found[name]["environment"] == name
        assert found[name]["permissions"] == {"id-token": "write"}
        used = [step["uses"] for step in found[name]["steps"] if "uses" in step]
        assert not any(use.startswith("actions/checkout") for use in used)  # what is published is what was built
    assert set(found["image"]["needs"]) == {"test", "build", "pypi"}
    assert found["image"]["permissions"] == {"contents": "read", "packages": "write"}
    (built,) = (
        step["with"] for step in found["image"]["steps"] if step.get("uses", "").startswith("docker/build-push")
    )
    assert (ROOT / built["file"]).is_file()


GITHUB = {
    "GITHUB_REF_NAME": "v0.1.0",
    "GITHUB_SERVER_URL": "https://git.example",
    "GITHUB_REPOSITORY": "someone/mockserver",
}


@pytest.mark.slow
@pytest.mark.needs("git")
@pytest.mark.needs("bash")
def test_the_steps_of_a_build(tmp_path: Path) -> None:
    """Check the tag and build, as the workflow does it, in a checkout of version 0.1.0."""
    copy_sources(tmp_path)
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    for name in ("mockserver/__init__.py", "clients/js/package.json"):
        text = re.sub(r'^(__version__ =|  "version":) ".+"', r'\1 "0.1.0"', (tmp_path / name).read_text(), flags=re.M)
        (tmp_path / name).write_text(text)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(re.sub("^## .+$", "## 0.1.0 - 2026-12-01", changelog.read_text(), count=1, flags=re.M))
    wanted = {"Check the tag", "Name this repository in the packages", "Build"}
    scripts = [step["run"] for step in steps(*WORKFLOWS) if step.get("name") in wanted]
    assert len(scripts) == len(wanted)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for script in scripts:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**environ, **GITHUB},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with ZipFile(wheel) as archive:
        metadata = archive.read("mockserver_llm-0.1.0.dist-info/METADATA").decode()
    address = "https://git.example/someone/mockserver"
    assert f"Project-URL: Source, {address}\n" in metadata
    assert f"Project-URL: Changelog, {address}/blob/v0.1.0/CHANGELOG.md\n" in metadata
    assert f"git+{address}.git" in (tmp_path / "clients/js/package.json").read_text()
    names = {path.name for folder in ("dist", "npm") for path in (tmp_path / folder).iterdir()}
    assert names == {"mockserver_llm-0.1.0-py3-none-any.whl", "mockserver_llm-0.1.0.tar.gz", "mockserver-llm-0.1.0.tgz"}
