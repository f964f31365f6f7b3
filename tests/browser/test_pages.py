"""What pages in a real browser reach: Debian's Chromium opens them, and the server's journal says what arrived."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from tests.kit.programs import find_program
from tests.kit.served import Served, served

pytestmark = pytest.mark.needs("chromium")

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=4000")  # fmt: skip
RESET = 'fetch("/__mockserver__/api/reset", {method: "POST", headers: {"x-mockserver-control": "1"}})'
RAN = f"""<p>quiet</p><script>document.querySelector("p").textContent = "ran";{RESET}</script>"""
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg"><text>quiet</text><script>{RESET}</script></svg>"""
KINDS = {"html": ("text/html", RAN), "svg": ("image/svg+xml", SVG), "xhtml": ("application/xhtml+xml", SVG)}


def opened(address: str, profile: Path) -> str:
    """The page at an address after its scripts have run, as HTML."""
    command = [find_program("chromium") or "chromium", *FLAGS, f"--user-data-dir={profile}", "--dump-dom", address]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def elsewhere(folder: Path) -> Iterator[str]:
    """The address of another origin that serves a folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def calls(server: Served) -> list[dict[str, object]]:
    with urlopen(f"{server.address}/__mockserver__/api/calls") as answer:
        found: list[dict[str, object]] = json.load(answer)["calls"]
        return found


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_a_page_runs_no_script(kind: str, tmp_path: Path) -> None:
    media, body = KINDS[kind]
    raw = {"headers": {"content-type": media}, "body": body}
    rules = json.dumps({"version": 1, "rules": [{"when": {"operation": "models"}, "then": {"raw": raw}}]})
    with served(rules) as server:
        page = opened(f"{server.address}/v1/models", tmp_path)
        assert "quiet" in page
        assert "<p>ran</p>" not in page
        assert "/v1/models" in [call["path"] for call in calls(server)], "the script has reset the server"


ATTACK = """<p>quiet</p><img src="%(server)s/v1/models"><iframe src="%(server)s/v1/models"></iframe>
<img src="http://0.0.0.0:%(port)s/v1/models"><img src="http://[::ffff:127.0.0.1]:%(port)s/v1/models">
<script type="speculationrules">{"prefetch": [{"urls": ["%(server)s/v1/models"], "eagerness": "immediate"}]}</script>
<script>
const chat = JSON.stringify({model: "gpt-4o", messages: [{role: "user", content: "once"}]});
const url = "%(server)s/v1/chat/completions";
const tries = [
  fetch(url, {method: "POST", mode: "no-cors", body: chat}),
  fetch(url, {method: "POST", mode: "no-cors", headers: {"content-type": "text/plain"}, body: new Blob([chat])}),
  fetch(url, {method: "POST", headers: {"content-type": "application/json"}, body: chat}),
];
navigator.sendBeacon(url, chat);
Promise.allSettled(tries).then(() => { document.querySelector("p").textContent = "all tried"; });
</script>"""


def test_a_page_of_another_origin_uses_up_nothing(tmp_path: Path) -> None:
    rules = "version: 1\nrules:\n  - {when: {last_user: once}, times: 1, then: {text: counted}}\n"
    with served(rules) as server, elsewhere(tmp_path) as other:
        (tmp_path / "attack.html").write_text(ATTACK % {"server": server.address, "port": server.port})
        assert "all tried" in opened(f"{other}/attack.html", tmp_path / "profile")
        seen = calls(server)
        assert len(seen) >= 8
        assert {call["status"] for call in seen} <= {403}


def test_the_browser_runs_scripts_of_pages_that_are_not_answers(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(RAN)
    with elsewhere(tmp_path) as other:
        assert "<p>ran</p>" in opened(f"{other}/page.html", tmp_path / "profile")
