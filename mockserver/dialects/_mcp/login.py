"""Logins of MCP servers over HTTP: the documents that clients look for, and the steps of OAuth."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.mcp_server import (
    AUTHORIZE,
    REGISTER,
    RESOURCE_METADATA,
    SERVER_METADATA,
    TOKEN,
    McpDocument,
    McpRequest,
)
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import read_json
from mockserver.dialects._reply import make_data_reply
from mockserver.kinds.mcp import SESSION

WELL_KNOWN: Mapping[str, str] = {
    "oauth-protected-resource": RESOURCE_METADATA,
    "oauth-authorization-server": SERVER_METADATA,
    "openid-configuration": SERVER_METADATA,
}
_STEPS: Mapping[str, str] = {"authorize": AUTHORIZE, "token": TOKEN, "register": REGISTER}
_MAX_FIELDS = 100  # of a form


def list_login_operations(dialect: str, render: Callable[[Call, Any], Reply]) -> Iterator[Operation]:
    """Yield the steps of a login as operations, relative to the mount."""
    for step, method in _STEPS.items():
        verb = "GET" if method == AUTHORIZE else "POST"
        yield Operation(
            SESSION.name, verb, f"/{{server}}/{step}", parse=partial(_parse, dialect, method), render=render
        )


def list_well_known_operations(dialect: str, render: Callable[[Call, Any], Reply]) -> Iterator[Operation]:
    """Yield the operations that show documents about logins, at whole paths."""
    for name, method in WELL_KNOWN.items():
        for place in ("", "/mcp", "/mcp/{server}"):
            path = f"/.well-known/{name}{place}"
            yield Operation(SESSION.name, "GET", path, parse=partial(_parse, dialect, method), render=render)
    # OpenID puts it behind the issuer.
    path = "/mcp/{server}/.well-known/openid-configuration"
    yield Operation(SESSION.name, "GET", path, parse=partial(_parse, dialect, SERVER_METADATA), render=render)


def _parse(dialect: str, method: str, http: HttpRequest, validation: Validation) -> Call:
    server = http.path_params.get("server", "")
    stated: Mapping[str, Json] = http.query if method == AUTHORIZE else _read_fields(http, method)
    request = McpRequest(server, method, params=stated, id=None, version="", is_modern=False)
    meaning = {"server": server, "method": method, "target": ""}
    return Call(dialect, SESSION.name, model=server, http=http, meaning=meaning, raw=stated, mcp=request)


def _read_fields(http: HttpRequest, method: str) -> Mapping[str, Json]:
    """Return the fields of a form, or of a registration in JSON. Raises Failure for other bodies."""
    if method == REGISTER:
        body = read_json(http.body)
        if not isinstance(body, Mapping):
            raise Failure("bad_json", "A registration is a JSON object.")
        return body
    try:
        fields: dict[str, Json] = dict(parse_qsl(http.body.decode("latin-1"), max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise Failure("bad_parameter", f"A form has at most {_MAX_FIELDS} fields.") from None
    client = _read_basic(http.find_header("authorization") or "")
    return {**fields, "client_id": client} if client and "client_id" not in fields else fields


def _read_basic(header: str) -> str:
    """Return the client that names itself by a header (RFC 6749, 2.3.1); empty without one."""
    kind, _, coded = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return unquote(b64decode(coded, validate=True).decode().partition(":")[0])
    except ValueError:
        return ""


def render_document(document: McpDocument) -> Reply:
    """Return a document, a redirection, or an empty answer."""
    if document.location is not None:
        return Reply(document.status, (("location", document.location), ("content-length", "0")))
    if not document.body:
        return Reply(document.status, (("content-length", "0"),))
    return make_data_reply(document.status, json.dumps(document.body).encode(), lines="cache-control: no-store\r\n")
