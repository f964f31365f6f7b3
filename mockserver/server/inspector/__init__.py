"""The inspector: the files of the page at `/__mockserver__/`, which shows in a browser what the control API says."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from starlette.responses import Response

from mockserver.core.http import CONTROL

FOLDER = Path(__file__).parent / "web"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def _find_assets() -> Mapping[str, Path]:
    """Return the files of the page by their paths below `/__mockserver__`; nothing else is ever read."""
    found = (file for file in sorted(FOLDER.rglob("*")) if file.suffix in TYPES)
    return {"/": FOLDER / "index.html"} | {f"/{file.relative_to(FOLDER).as_posix()}": file for file in found}


ASSETS = _find_assets()
PATHS = frozenset((CONTROL, *(CONTROL + path for path in ASSETS)))


def send_asset(path: str, fields: Mapping[str, str]) -> Response:
    """Send the file at a path of ASSETS; the page only to those who navigate to it, as the headers say."""
    if ASSETS[path].suffix == ".html" and fields.get("sec-fetch-mode", "navigate") != "navigate":
        return Response(
            "This page can only be opened from the address bar of a browser.\n", 403, media_type="text/plain"
        )
    content = ASSETS[path].read_bytes()
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache", "content-security-policy": write_policy()}
    if tag in (each.strip().removeprefix("W/") for each in fields.get("if-none-match", "").split(",")):
        return Response(None, 304, headers)
    return Response(content, 200, {"content-type": TYPES[ASSETS[path].suffix], **headers})


def write_policy() -> str:
    """Return what the page may do: run its own scripts, and ask this server; it parses no HTML."""
    inline = _INLINE.findall(ASSETS["/"].read_bytes())
    hashes = "".join(f" 'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in inline)
    return f"default-src 'none'; script-src 'self'{hashes}; {_POLICY}"


_INLINE = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)
_POLICY = (
    "style-src 'self'; img-src 'self' blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
