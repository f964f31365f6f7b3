"""A line for each request, and tracebacks: nothing that a client says gets raw into either."""

import gzip
import json
import logging
import sys

import pytest

from mockserver.cli.log import Careful, log
from mockserver.core.exchange import Exchange
from mockserver.core.plan import Plan, Rendered

ROW = Exchange(3, "POST", "/v1/ø\n", "openai", "default")
ROW.plan = Plan(Rendered(), "rule rules.yaml:1 é\r\x1b[2J")
ROW.status, ROW.ended, ROW.elapsed = 200, "complete", 0.0012


@pytest.mark.parametrize("err", [False, True])
def test_a_request_is_one_line_of_text(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    shown = log("text", err=err)
    assert shown is not None
    shown(ROW)
    said = capsys.readouterr()
    line = r"3 POST /v1/\xf8\x0a -> 200 rule rules.yaml:1 \xe9\x0d\x1b[2J, 1.2 ms, complete" + "\n"
    assert (said.out, said.err) == (("", line) if err else (line, ""))


def test_a_request_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    shown = log("json")
    assert shown is not None
    shown(ROW)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 1
    assert printed.strip().isprintable()
    line = json.loads(printed)
    assert (line["seq"], line["status"], line["source"]) == (3, 200, ROW.source)
    assert (line["recorded"], line["unrecorded"]) == ("", "")


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
    shown = log(kind)
    assert shown is not None
    row = Exchange(1, "GET", "/v1/models/sk-proj-0a1b2c", "openai", "of-sk-proj-0a1b2c")
    row.headers, row.query, row.body, row.model = headers, query, body, "x-sk-proj-0a1b2c"
    shown(row)
    printed = capsys.readouterr().out
    assert "sk-proj-" not in printed
    assert "/v1/models/sk-...(masked)" in printed


def test_no_credential_of_a_coded_body_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    shown = log("text")
    assert shown is not None
    row = Exchange(1, "GET", "/v1/models/SK-PROJ-0A1B2C", "openai", "default")
    row.headers, row.body = [(b"content-encoding", b"gzip")], gzip.compress(b'{"api_key": "sk-proj-0a1b2c"}')
    row.plan = Plan(Rendered(), "rule of-sk-proj-0a1b2c")
    shown(row)
    assert "/v1/models/sk-...(masked) -> 0 rule of-sk-...(masked)," in capsys.readouterr().out


def test_a_line_of_json_is_not_as_long_as_a_name_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    shown = log("json")
    assert shown is not None
    row = Exchange(1, "GET", "/" + "x" * 10_000, "openai", "default", model="y" * 1_000_000)
    shown(row)
    assert len(capsys.readouterr().out) < 2_000


def test_nothing_is_logged_by_default() -> None:
    assert log("none") is None


def test_a_traceback_is_escaped_and_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0a1b2c3d4e")
    try:
        raise ValueError("with sk-proj-0a1b2c3d4e\nforged \x1b[2J")
    except ValueError:
        record = logging.LogRecord(
            "a", logging.ERROR, "", 1, "it failed with %s", ("sk-proj-0a1b2c3d4e",), sys.exc_info()
        )
    text = Careful("%(message)s").format(record)
    assert text.splitlines()[0] == "it failed with sk-p...(masked)"
    assert text.splitlines()[-2:] == ["| ValueError: with sk-p...(masked)", r"| forged \x1b[2J"]
