"""`mockserver serve`: its banner, warnings and log lines."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cli.log_lines import RedactingFormatter, log_unmatched, make_remark_logger, make_request_logger
from mockserver.cli.serve import list_warnings, write_banner
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Cause, Plan
from mockserver.core.row import Row
from mockserver.dialects import discover_all
from mockserver.server.compose import start
from mockserver.server.sources import Sources
from mockserver.state.journal import Journal
from tests.kit.episodes import chat
from tests.kit.processes import Served as Server


def test_the_banner_names_every_base_url(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{then: {text: a}}]")
    sources = Sources((rules,))
    text = write_banner(start(sources), sources, 8123)
    first, *bases = text.splitlines()
    assert first == f"mockserver listens on http://127.0.0.1:8123  (1 rule from {rules}; unmatched: generate)"
    assert [line.split(maxsplit=1)[0] for line in bases[:-2]] == list(discover_all())
    assert "  openai       http://127.0.0.1:8123/openai/v1" in bases
    assert "  tzafon       http://127.0.0.1:8123/tzafon  (OpenAI's client: append /v1)" in bases
    assert bases[-2:] == [
        "               http://127.0.0.1:8123/v1  (speaks openai)",
        "  inspector    http://127.0.0.1:8123/__mockserver__/",
    ]


def test_the_banner_names_the_addresses_of_mcp_servers(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("mcp: {files: {tools: [{name: a}]}, web search: {tools: [{name: b}]}}")
    text = write_banner(start(sources := Sources((rules,))), sources, 8123)
    listed = [line for line in text.splitlines() if line.startswith("  mcp ")]
    assert listed == [
        "  mcp files    http://127.0.0.1:8123/mcp/files",
        "  mcp web search http://127.0.0.1:8123/mcp/web%20search",
    ]


def test_the_banner_names_the_bare_base_url_of_another_dialect() -> None:
    text = write_banner(start(sources := Sources(flags={"dialect": "fireworks"})), sources, 1)
    assert "               http://127.0.0.1:1/inference  (OpenAI's client: append /v1)  (speaks fireworks)\n" in text


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"host": "0.0.0.0"}, "  inspector    http://0.0.0.0:1/__mockserver__/#token={token}"),
        ({"host": "0.0.0.0", "control_token": "my-very-own-token"}, "  inspector    http://0.0.0.0:1/__mockserver__/"),
        ({"inspector": False}, None),
    ],
)
def test_the_banner_names_the_inspector(flags: dict[str, Any], line: str | None) -> None:
    live = start(sources := Sources(flags=flags))
    found = [each for each in write_banner(live, sources, 1).splitlines() if "inspector" in each]
    assert found == ([] if line is None else [line.format(token=live.control_token)])


def test_the_banner_names_the_status_of_an_unmatched_request() -> None:
    sources = Sources(flags={"unmatched": {"status": 501}})
    assert "unmatched: error 501)" in write_banner(start(sources), sources, 1)


@pytest.mark.parametrize(
    ("record", "there", "expected"),
    [
        ("none", 1, "  cassette chat.yaml: 1 episode; record: none"),
        ("once", 0, "  cassette chat.yaml: does not exist yet; record: once; upstream: openai=http://127.0.0.1:9/v1"),
        (
            "new_episodes",
            2,
            "  cassette chat.yaml: 2 episodes; record: new_episodes; upstream: openai=http://127.0.0.1:9/v1",
        ),
    ],
)
def test_the_banner_describes_the_cassette(tmp_path: Path, record: str, there: int, expected: str) -> None:
    cassette = CassetteFile(tmp_path / "chat.yaml")
    for _ in range(there):
        cassette.append(chat("Hi", {"text": "Hello"}))
    upstream = {} if record == "none" else {"upstream": {"openai": "http://127.0.0.1:9/v1"}}
    sources = Sources((), {"cassettes": str(tmp_path), "cassette": "chat", "record": record, **upstream})
    first, second, *_ = write_banner(start(sources), sources, 1).splitlines()
    assert first == "mockserver listens on http://127.0.0.1:1  (no rules; then cassette chat.yaml)"
    assert second == expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "mock.test"])
def test_an_open_server_warns_and_prints_the_generated_token(host: str) -> None:
    live = start(Sources((), {"host": host}))
    open_to, token = list_warnings(live)
    assert open_to == "  open to the network: anyone can use this server; --host 127.0.0.1 limits it to this machine"
    assert token == f"  /__mockserver__ requires the header authorization: Bearer {live.control_token}"


def test_a_configured_token_is_not_printed() -> None:
    live = start(Sources((), {"host": "0.0.0.0", "control_token": "sesame-open", "keys": "sk-1"}))
    assert list(list_warnings(live)) == [
        "  open to the network: anyone with an API key can use this server; --host 127.0.0.1 limits it to this machine"
    ]


@pytest.mark.parametrize(("folder", "writable"), [("new/deep", True), ("", True), ("file", False), ("file/in", False)])
def test_a_folder_that_is_not_writable_is_a_warning(tmp_path: Path, folder: str, writable: bool) -> None:
    (tmp_path / "file").touch()
    settings = {"cassettes": str(tmp_path / folder), "cassette": "chat", "upstream": {"openai": "http://127.0.0.1:9"}}
    expected = f"  record is new_episodes, but {tmp_path / folder} is not writable; set --cassettes FOLDER"
    assert list(list_warnings(start(Sources((), {**settings, "record": "new_episodes"})))) == (
        [] if writable else [expected]
    )


ROW = Row(3, "POST", "/v1/ø\n", "openai", "default")
ROW.plan = Plan(None, "rule rules.yaml:1 é\r\x1b[2J")
ROW.status, ROW.ended, ROW.elapsed = 200, "complete", 0.0012


@pytest.mark.parametrize("err", [False, True])
def test_a_request_is_one_line_of_text(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    log = make_request_logger("text", err=err)
    assert log is not None
    log(ROW)
    printed = capsys.readouterr()
    line = r"3 POST /v1/\xf8\x0a -> 200 rule rules.yaml:1 \xe9\x0d\x1b[2J, 1.2 ms, complete" + "\n"
    assert (printed.out, printed.err) == (("", line) if err else (line, ""))


def test_a_request_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    log = make_request_logger("json")
    assert log is not None
    log(ROW)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 1
    assert printed.strip().isprintable()
    line = json.loads(printed)
    assert (line["seq"], line["status"], line["source"]) == (3, 200, ROW.source)
    assert (line["recorded"], line["unrecorded"]) == ("", "")


@pytest.mark.parametrize("full", [False, True])
def test_it_answers_when_its_log_cannot_be_written(tmp_path: Path, full: bool) -> None:
    errors = tmp_path / "errors.txt"
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log", "json", "--no-reload"]
    reader, writer = os.pipe()
    with errors.open("w") as file, open("/dev/full", "wb") as disk:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=disk if full else writer, stderr=file)
    try:
        server = Server(process, errors)
        os.close(reader)
        os.close(writer)
        assert [server.chat(f"Repeat exactly: {number}") for number in range(3)] == ["0", "1", "2"]
    finally:
        process.terminate()
        ended = process.wait(timeout=30)
    assert "Traceback" not in server.errors
    assert full or ended == 0  # else Python itself reports what it cannot write


def test_a_warning_tells_of_edited_recordings(tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    CassetteFile(file).append(chat("hi", {"text": "hello"}))
    settings = {"cassettes": str(tmp_path), "cassette": "chat"}
    assert list(list_warnings(start(Sources((), settings)))) == []
    file.write_text(file.read_text().replace("hello", "goodbye"))
    [warning] = list_warnings(start(Sources((), settings)))
    assert warning.startswith("  cassette chat.yaml: edited since it was recorded: #1; record it again or, ")


def test_a_remark_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    log, remark_log = make_request_logger("json"), make_remark_logger()
    for seq in (4, 5):
        row = Row(seq, "POST", "/v1", "openai", "default")
        row.headers = [(b"authorization", b"Bearer sk-a-secret-key-0123456789")]
        row.plan = Plan(None, "rule a.yaml:1", remarks=('a.yaml:1: calls "sk-a-secret-key-0123456789\n"',))
        remark_log(row)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith('call 4: a.yaml:1: calls "')
    assert len(printed.err.splitlines()) == 1
    assert "sk-a-secret" not in printed.err
    assert log is not None
    log(row)
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark.startswith("a.yaml:1: calls ")


def test_unmatched_calls_are_logged_without_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    for seq, source, status in ((1, "unmatched", 404), (2, "generated", 200), (3, "invalid", 400)):
        row = Row(seq, "POST", "/v1/chat/completions", "openai", "default", status=status)
        row.plan = Plan(None, source)
        log_unmatched(row)
    assert capsys.readouterr().err == "call 1: no rule answered POST /v1/chat/completions (404)\n"


def test_each_call_that_a_rule_fails_on_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal()
    journal.on_remark = make_remark_logger()
    for defect, source in (("a.yaml:2: no\nsk-a-secret-key-0123456789", "rule a.yaml:1"), ("a bug", "crashed")):
        for _ in range(2):
            headers = ((b"x-api-key", b"sk-a-secret-key-0123456789"),)
            row = journal.open(HttpRequest("POST", "/v1", {}, headers, b"", namespace="default"), "openai")
            row.plan = Plan(Cause("server_error", defect), source)
            journal.close(row, "complete")
    logged = capsys.readouterr().err.splitlines()
    assert [line.partition(" no")[0] for line in logged] == ["call 1: a.yaml:2:", "call 2: a.yaml:2:"]
    assert "sk-a-secret" not in logged[0]


@pytest.mark.parametrize("kind", ["text", "json"])
@pytest.mark.parametrize(
    ("headers", "query", "body"),
    [
        ([(b"authorization", b"Bearer sk-proj-0a1b2c")], b"", b""),
        ([], b"api_key=sk-proj-0a1b2c", b""),
        ([], b"", b'{"api_key": "sk-proj-0a1b2c"}'),
    ],
)
def test_no_credential_is_logged(
    capsys: pytest.CaptureFixture[str], kind: str, headers: list[tuple[bytes, bytes]], query: bytes, body: bytes
) -> None:
    log = make_request_logger(kind)
    assert log is not None
    row = Row(1, "GET", "/v1/models/sk-proj-0a1b2c", "openai", "of-sk-proj-0a1b2c")
    row.headers, row.query, row.body, row.model = headers, query, body, "x-sk-proj-0a1b2c"
    log(row)
    printed = capsys.readouterr().out
    assert "sk-proj-" not in printed
    assert "/v1/models/sk-...(masked)" in printed


def test_a_traceback_is_escaped_and_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0a1b2c3d4e")
    try:
        raise ValueError("with sk-proj-0a1b2c3d4e\nforged \x1b[2J")
    except ValueError:
        record = logging.LogRecord(
            "a", logging.ERROR, "", 1, "it failed with %s", ("sk-proj-0a1b2c3d4e",), sys.exc_info()
        )
    text = RedactingFormatter("%(message)s").format(record)
    assert text.splitlines()[0] == "it failed with sk-p...(masked)"
    assert text.splitlines()[-2:] == ["| ValueError: with sk-p...(masked)", r"| forged \x1b[2J"]
