"""The action and the hook that other repositories use: their steps are run as GitHub and pre-commit run them."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from mockserver.cli import COMMANDS
from mockserver.config.settings import Settings
from mockserver.server.client_environment import make_environment
from tests.release.sources import ROOT, clean, tool

pytestmark = pytest.mark.needs("bash")

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
RULES = "version: 1\nrules: [{when: {last_user: hello}, then: {text: 'Hi!'}}]\n"


class Runner:
    """A job on a machine of GitHub: its folders, and the variables that its steps pass on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = clean() | {"RUNNER_TEMP": str(folder / "temp")}
        for name in ("GITHUB_ENV", "GITHUB_OUTPUT"):
            self.environ[name] = str(folder / name)
        (folder / "temp").mkdir()

    def use(self, **inputs: str) -> "subprocess.CompletedProcess[str]":
        """Use the action, without what it installs unless `package` is given."""
        given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        given |= {"python": sys.executable, "package": ""} | inputs
        for step in ACTION["runs"]["steps"]:
            if expression(step["if"], given):
                done = self._run(step, given)
                if done.returncode:
                    return done
        return done

    def _run(self, step: Mapping[str, Any], given: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        assert step["shell"] == "bash"
        own = {name: expression(value, given) for name, value in step.get("env", {}).items()}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        environ = {**self.environ, **self.variables("GITHUB_ENV"), **own}
        return subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def variables(self, name: str) -> dict[str, str]:
        file = Path(self.environ[name])
        return dict(line.split("=", 1) for line in file.read_text().splitlines()) if file.exists() else {}

    def stop(self) -> None:
        pid = self.folder / "temp" / "mockserver.pid"
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGTERM)


def expression(text: str, given: Mapping[str, str]) -> Any:
    """The value of a condition or of `${{ ... }}`, of which GitHub knows more than is needed here."""
    words = text.removeprefix("${{").removesuffix("}}").strip()
    words = re.sub(r"inputs\.(\w+)", lambda found: repr(given[found[1]]), words)
    words = words.replace("github.action_path", repr(str(ROOT))).replace("&&", " and ").replace("||", " or ")
    return eval(words, {})


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    found = Runner(tmp_path)
    yield found
    found.stop()


def test_later_steps_find_the_server(runner: Runner) -> None:
    (runner.folder / "chat rules.yaml").write_text(RULES)
    (runner.folder / "chat.yaml").write_text(RULES)
    started = runner.use(rules="chat.yaml", args="--unmatched error --seed 7")
    assert started.returncode == 0, started.stdout + started.stderr
    assert "1 rule from chat.yaml; unmatched: error" in started.stdout
    variables = runner.variables("GITHUB_ENV")
    address = variables["MOCKSERVER_URL"]
    assert runner.variables("GITHUB_OUTPUT") == {"address": address}
    assert variables == make_environment(address, Settings(), clean())
    content = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}).encode()
    url = f"{variables['OPENAI_BASE_URL']}/chat/completions"
    with urlopen(Request(url, content, {"content-type": "application/json"})) as answer:
        assert json.load(answer)["choices"][0]["message"]["content"] == "Hi!"
    printed = runner.use(command="journal")
    assert printed.returncode == 0, printed.stderr
    assert '"source":"rule chat.yaml:2"' in printed.stdout
    assert "mockserver listens on" in printed.stdout


def test_a_server_that_does_not_start_fails_the_step(runner: Runner) -> None:
    (runner.folder / "rules.yaml").write_text("rules: 7\n")
    failed = runner.use()
    assert failed.returncode == 1
    assert "::error title=mockserver::it did not start\nmockserver: rules.yaml:1:8: " in failed.stdout
    assert runner.variables("GITHUB_ENV") == {}


@pytest.mark.slow
def test_it_installs_the_package(runner: Runner) -> None:
    """Without its dependencies, which come from the index: these tests borrow their own."""
    tool(ROOT, "hatchling", "build", "-t", "wheel", "-d", str(runner.folder))
    (wheel,) = runner.folder.glob("*.whl")
    runner.environ |= {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    installs = [step for step in ACTION["runs"]["steps"] if "inputs.package" in step["if"]]
    for step in installs:
        done = runner._run(step, {"package": str(wheel), "python": sys.executable, "command": "start"})
        assert done.returncode == 0, done.stderr
    python = (runner.folder / "temp" / "mockserver-python").read_text().strip()
    asked = [python, "-c", "import mockserver; print(mockserver.__file__)"]
    told = subprocess.run(asked, cwd=runner.folder, env=clean(), capture_output=True, text=True, check=True).stdout
    assert told.startswith(str(runner.folder / "temp" / "mockserver-venv"))


def test_its_default_package_is_its_own_commit() -> None:
    (value,) = (step["env"]["PACKAGE"] for step in ACTION["runs"]["steps"] if "PACKAGE" in step.get("env", {}))
    assert expression(value, {"package": ACTION["inputs"]["package"]["default"]}) == str(ROOT)
    assert expression(value, {"package": "mockserver==0.1.0"}) == "mockserver==0.1.0"


def hook(folder: Path, *files: str) -> "subprocess.CompletedProcess[str]":
    """Run the hook as pre-commit does: its entry, then the names of files."""
    program, *words = shlex.split(HOOK["entry"])
    assert program == "mockserver"
    assert words[0] in COMMANDS
    command = [sys.executable, "-m", program, *words, *files]
    environ = clean() | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_the_hook_passes_good_files_and_fails_bad_ones(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "bad-rules.yaml").write_text(RULES.replace("last_user", "last_usr"))
    passed, failed = hook(tmp_path, "rules.yaml"), hook(tmp_path, "rules.yaml", "bad-rules.yaml")
    assert (passed.returncode, passed.stderr) == (0, "")
    assert failed.returncode == 2
    assert failed.stderr.startswith("bad-rules.yaml:2:")
    assert "last_user" in failed.stderr


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("rules.yaml", True),
        ("tests/mock/chat-rules.yml", True),
        ("cassettes/weather.yaml", False),
        ("rules/chat.yaml", False),
        ("rules.yaml.orig", False),
    ],
)
def test_the_hook_takes_rules_files(name: str, taken: bool) -> None:
    assert bool(re.search(HOOK["files"], name)) is taken


def test_the_hook_has_the_keys_of_pre_commit() -> None:
    known = {"id", "name", "entry", "language", "files", "types", "description", "require_serial", "pass_filenames"}
    assert {"id", "name", "entry", "language"} <= HOOK.keys() <= known
    assert HOOK["language"] == "python"
