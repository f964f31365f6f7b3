"""`mockserver run`: real programs with official clients, configured by nothing but the environment."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import program
from tests.kit.served import ROOT, served

RULES = """
rules:
  - name: weather
    when: {last_user: "*weather*"}
    then: {text: sunny}
"""
HELLO = [{"role": "user", "content": "the weather?"}]


def environ(**more: str) -> dict[str, str]:
    names = ("OPENAI", "AZURE", "FIREWORKS", "LIGHTCONE", "TZAFON", "MOCKSERVER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def run(folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mockserver", "run", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environ(**more), capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


CLIENTS = {
    "openai": f"""
from openai import OpenAI
print(OpenAI().chat.completions.create(model="m", messages={HELLO}).choices[0].message.content)""",
    "openai, the module": f"""
import openai
print(openai.chat.completions.create(model="m", messages={HELLO}).choices[0].message.content)""",
    "openai for Azure": f"""
from openai import AzureOpenAI
print(AzureOpenAI().chat.completions.create(model="m", messages={HELLO}).choices[0].message.content)""",
    "fireworks": f"""
from fireworks import Fireworks
print(Fireworks().chat.completions.create(model="m", messages={HELLO}).choices[0].message.content)""",
    "tzafon": """
from tzafon import Lightcone
print(Lightcone().responses.create(model="m", input="the weather?").output[0].content[0].text)""",
    "azure-ai-inference": f"""
import os
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
key = AzureKeyCredential(os.environ["AZURE_INFERENCE_CREDENTIAL"])
client = ChatCompletionsClient(os.environ["AZURE_INFERENCE_ENDPOINT"], key)
print(client.complete(model="m", messages={HELLO}).choices[0].message.content)""",
}


@pytest.mark.slow
def test_clients_that_are_told_nothing_come_by_themselves(folder: Path) -> None:
    environment = {"OPENAI_API_KEY": "sk-real", "http_proxy": "http://192.0.2.1:9"}
    done = run(folder, "--", sys.executable, "-c", "".join(CLIENTS.values()), **environment)
    assert (done.returncode, done.stdout) == (0, "sunny\n" * len(CLIENTS))
    assert done.stderr == "mockserver: 6 calls: 6 by rules\n"


def test_unmatched_calls_are_told_with_the_nearest_rules(folder: Path) -> None:
    done = run(folder, "--", sys.executable, "-c", ASKING, "hello")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "mockserver: 1 call: 1 unmatched",
        "call 1, POST /openai/v1/chat/completions -> 200: no rule answers this request; the nearest:",
        '  rules.yaml:3 "weather": 0 of 1 condition holds',
        '    MISS  last_user glob "*weather*": got "hello"',
    ]
    strict = run(folder, "--unmatched", "error", "--", sys.executable, "-c", ASKING, "hello")
    assert strict.returncode == 1
    assert "HTTP Error 404" in strict.stderr
    assert "mockserver: 1 call: 1 unmatched" in strict.stderr


def test_a_shell_script_with_its_own_input_and_output(folder: Path) -> None:
    script = folder / "script.sh"
    script.write_text('#!/bin/sh\nread line\necho "$line $1 $OPENAI_BASE_URL" >&2\nexit 7\n')
    script.chmod(0o755)
    command = [sys.executable, "-m", "mockserver", "run", "--", "./script.sh", "--flag"]
    done = subprocess.run(
        command, cwd=folder, env=environ(), input="said\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 7
    first, second = done.stderr.splitlines()
    assert first.startswith("said --flag http://127.0.0.1:")
    assert first.endswith("/openai/v1")
    assert second == "mockserver: 0 calls"


def test_rules_and_flags_as_for_serve(folder: Path) -> None:
    (folder / "other.yaml").write_text(
        "settings: {port: 1, host: 0.0.0.0, keys: [sk-own]}\nrules: [{then: {text: other}}]"
    )
    script = "import os; print(os.environ['OPENAI_API_KEY'])" + CLIENTS["openai"]
    done = run(folder, "-r", "other.yaml", "--log", "text", "--", sys.executable, "-c", script)
    assert done.stdout == "sk-own\nother\n"
    log, told = done.stderr.splitlines()
    assert log.startswith("1 POST /openai/v1/chat/completions -> 200 rule other.yaml:2, ")
    assert told == "mockserver: 1 call: 1 by rules"


ASKING = """
import os, sys, urllib.request
body = '{"model": "m", "messages": [{"role": "user", "content": "%s"}]}' % sys.argv[1]
key = os.environ["OPENAI_API_KEY"]
headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(), headers)
urllib.request.urlopen(request).read()
print(key)
"""
UPSTREAM = "settings: {keys: [sk-real-0a1b2c]}\nrules: [{then: {text: 'the weather of sk-real-0a1b2c'}}]"


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with served(UPSTREAM) as server:
        yield f"openai={server.address}/openai/v1"


def recording(folder: Path, upstream: str, text: str, record: str = "once", **more: str) -> list[str]:
    more |= {"OPENAI_API_KEY": "sk-real-0a1b2c", "MOCKSERVER_CASSETTE": "chat", "MOCKSERVER_UPSTREAM": upstream}
    done = run(folder, "--record", record, "--", sys.executable, "-c", ASKING, text, **more)
    assert done.stdout in ("sk-real-0a1b2c\n", "")
    return [line for line in done.stderr.splitlines() if "mockserver: " in line or line.startswith(("cassette", " "))]


def test_a_run_is_recorded_once_and_then_played(tmp_path: Path, upstream: str) -> None:
    assert recording(tmp_path, upstream, "the weather?") == [
        "mockserver: 1 call: 1 forwarded",
        "cassette chat.yaml: 1 episode recorded",
    ]
    text = (tmp_path / "cassettes" / "chat.yaml").read_text()
    assert "the weather of <API_KEY>" in text
    assert "sk-real" not in text
    assert recording(tmp_path, "openai=http://127.0.0.1:9", "the weather?") == ["mockserver: 1 call: 1 from cassettes"]
    assert recording(tmp_path, upstream, "the time?", record="new_episodes") == [
        "mockserver: 1 call: 1 forwarded",
        "cassette chat.yaml: 1 episode recorded",
        "cassette chat.yaml: 1 of 1 episode not played: #1",
    ]


def test_nothing_recorded_and_nowhere_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = recording(tmp_path, "openai=http://127.0.0.1:9", "hello")
    assert told[-2:] == ["mockserver: 1 call: 1 forwarded", "cassette chat.yaml: nothing recorded"]
    monkeypatch.chdir(tmp_path)
    nowhere = program.run("run", "--cassette", "new", "--record", "once", "--", "true")
    assert "record is once, but no upstream is set; set --upstream DIALECT=URL" in nowhere.err
