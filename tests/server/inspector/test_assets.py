"""The files of the inspector: who gets them, their headers, and that a wheel has them."""

import re
import subprocess
import sys
import zipfile
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mockserver.server.inspector import ASSETS, FOLDER, TYPES
from tests.kit.control import ControlledServer, controlled_server
from tests.kit.local import Answered

ROOT = Path(__file__).parents[3]
PAGE = "/__mockserver__/"
HOST = {"host": "127.0.0.1:8000"}
VISIT = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-site": "none"}


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path)


def got(server: ControlledServer, path: str, method: str = "GET", **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.app.ask(path, headers={**HOST, **named}, method=method)


def test_the_page_has_the_policy_of_its_own_import_map(server: ControlledServer) -> None:
    page = server.app.ask(PAGE, headers={**HOST, **VISIT}, method="GET")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    (imports,) = re.findall(rb'<script type="importmap">(.*?)</script>', page.body, re.DOTALL)
    assert page.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'self' 'sha256-{b64encode(sha256(imports).digest()).decode()}'; "
        "style-src 'self'; img-src 'self' blob:; media-src blob:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    assert (page.headers["x-frame-options"], page.headers["x-content-type-options"]) == ("DENY", "nosniff")
    assert (page.headers["referrer-policy"], page.headers["cache-control"]) == ("no-referrer", "no-cache")
    assert "set-cookie" not in page.headers


def test_every_asset_has_its_type_and_an_etag(server: ControlledServer) -> None:
    for path, file in ASSETS.items():
        found = got(server, PAGE + path[1:])
        assert (found.status, found.body) == (200, file.read_bytes())
        assert found.headers["content-type"] == TYPES[file.suffix]
        again = got(server, PAGE + path[1:], if_none_match=f'"other", {found.headers["etag"]}')
        assert (again.status, again.body, again.headers["cache-control"]) == (304, b"", "no-cache")
        assert got(server, PAGE + path[1:], if_none_match='"other"').status == 200
    assert got(server, PAGE, "HEAD").status == 200


def test_the_path_without_a_slash_leads_to_the_page(server: ControlledServer) -> None:
    found = got(server, "/__mockserver__")
    assert (found.status, found.headers["location"]) == (307, PAGE)


@pytest.mark.parametrize("path", ["none.js", "../__init__.py", "%2e%2e/__init__.py", "web/index.html", "LICENSES.md"])
def test_nothing_else_is_a_file(server: ControlledServer, path: str) -> None:
    assert got(server, PAGE + path).status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-mode": "cors", "sec-fetch-site": "same-origin"}, 403),  # a script reads the page
        ({"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script", "sec-fetch-site": "same-origin"}, 403),
        ({"host": "evil.test:8000"}, 403),
        ({"origin": "http://evil.test"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({**VISIT, "sec-fetch-site": "cross-site"}, 200),  # a link was followed
        ({}, 200),
    ],
)
def test_who_gets_the_page(server: ControlledServer, headers: dict[str, str], status: int) -> None:
    for path in (PAGE, "/__mockserver__/index.html"):
        assert server.app.ask(path, headers={**HOST, **headers}, method="GET").status == status


def test_changes_are_refused(server: ControlledServer) -> None:
    found = got(server, PAGE, "POST", x_mockserver_control="1")
    assert (found.status, found.headers["allow"]) == (405, "GET")


def test_the_files_need_no_token_and_the_api_does(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, host="0.0.0.0", control_token="open-sesame-1234")
    assert [got(server, path).status for path in ("/__mockserver__", PAGE, f"{PAGE}style.css")] == [307, 200, 200]
    assert [got(server, PAGE + path).status for path in ("api/calls", "api/rules", "metrics", "api/x")] == [401] * 4


def test_without_the_inspector_there_is_the_api(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, inspector=False)
    assert [got(server, path).status for path in ("/__mockserver__", PAGE, f"{PAGE}style.css")] == [404] * 3
    assert server.get("calls") == {"calls": []}


def test_the_wheel_has_every_file(tmp_path: Path) -> None:
    build: Any = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    files = {file.relative_to(ROOT).as_posix() for file in FOLDER.rglob("*") if file.is_file()}
    assert files <= set(zipfile.ZipFile(wheel).namelist())
