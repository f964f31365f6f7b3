"""A call as text to copy: the bytes of its bodies, a curl command, a rule, a test, a request for `explain`.

No credential is in it, and no byte that a terminal would obey.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from mockserver.cassettes.event_lines import replace_data
from mockserver.cassettes.to_rules import UnsupportedError, make_then
from mockserver.core.event_stream import is_prelude
from mockserver.core.json import try_parse
from mockserver.core.row import Row
from mockserver.core.sent_body import split_frames
from mockserver.dialects import list_client_configs
from mockserver.engine.offload import on_thread
from mockserver.reports.suggest import Suggestion, suggest_rule, write_python, write_python_rule, write_yaml_rule
from mockserver.server.control.detail import parse_call
from mockserver.server.control.requests import ControlRequest, RefusedError
from mockserver.server.control.rows import read_answer
from mockserver.server.masking import decode_request, find_row_secrets, rebuild_request
from mockserver.server.namespaces import DEFAULT

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

_GAP = "\ue000"  # in place of a credential, until the text is quoted; a private-use character


async def show_body(request: ControlRequest) -> Response:
    """Return the bytes of the reply, or of the request, as text."""
    row = request.find_call()
    of = request.query.get("of", "reply")
    if of not in ("request", "reply"):
        raise RefusedError(400, "?of= must be request or reply")
    read = _read_request_body if of == "request" else _read_reply_body
    return _make_text_response(await on_thread(read, row, find_row_secrets(row)))


async def copy_call(request: ControlRequest) -> Response:
    """Return the call to copy, without credentials."""
    row = request.find_call()
    form = request.query.get("form", "curl")
    if form not in FORMS:
        raise RefusedError(400, f"?form= must be one of {', '.join(FORMS)}")
    return _make_text_response(await on_thread(FORMS[form], row, request))


def _make_text_response(text: str) -> Response:
    shown = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return Response(shown.encode("utf-8", "backslashreplace"), media_type="text/plain")


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _read_request_body(row: Row, secrets: "Secrets") -> str:
    return secrets.mask_body(decode_request(rebuild_request(row)).body).decode("utf-8", "replace")


def _read_reply_body(row: Row, secrets: "Secrets") -> str:
    sent = b"".join([data for _, data in row.sent])
    if not row.streams:
        (text,) = secrets.mask_events((sent.decode("utf-8", "replace"),))
        return secrets.mask_text(text)
    left = split_frames(row.sent)
    texts = [frame.text for frame in left]
    masked = secrets.mask_events(texts)
    if is_prelude(sent):  # binary messages: a line of text says what each does
        named = (f"{frame.event or ''}: {text}\n" for frame, text in zip(left, masked, strict=True))
        return secrets.mask_text("".join(named))
    if list(masked) != texts:
        end = b"\n" if sent[:1] == b"{" else b"\n\n"
        sent = b"".join(replace_data(frame.raw, text) + end for frame, text in zip(left, masked, strict=True))
    return secrets.mask_text(sent.decode("utf-8", "replace"))


def _write_curl(row: Row, request: ControlRequest) -> str:
    hidden = _hide_credentials(row)
    space = "" if row.namespace == DEFAULT else f"/ns/{row.namespace}"
    url = f"{request.address}{space}{row.path}{hidden.question}"
    quote = partial(_quote_text, key=_find_key_variable(row.dialect))
    method = [] if row.method == ("POST" if hidden.body else "GET") else ["-X", quote(row.method)]
    parts = ["curl", *method, quote(url)]
    parts += [f"\\\n  -H {quote(f'{name}: {value}')}" for name, value in hidden.headers.items()]
    return " ".join([*parts, *([f"\\\n  --data-raw {quote(hidden.body)}"] if hidden.body else [])]) + "\n"


def _find_key_variable(dialect: str) -> str:
    """Return the environment variable from which the clients of a dialect take their key."""
    variables = list_client_configs()[dialect].variables.items()
    return next((name for name, value in variables if value == "{key}"), "OPENAI_API_KEY")


def _quote_text(text: str, key: str) -> str:
    """Return a text for a shell, with a variable in place of each credential; other than ASCII as escapes of bash."""
    return f'"${key}"'.join([_quote_piece(piece) for piece in text.split(_GAP)])


def _quote_piece(text: str) -> str:
    if text.isascii() and text.isprintable():
        return shlex.quote(text) if text else ""
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in text.encode())
    return f"$'{escaped}'"


class _HiddenRequest(Struct, frozen=True):
    """A request with a gap for each credential: its body (JSON in ASCII), its query, and the headers that matter."""

    body: str
    query: str
    headers: Mapping[str, str]

    @property
    def question(self) -> str:
        """The query as it stands behind a path."""
        return f"?{self.query}" if self.query else ""


def _hide_credentials(row: Row) -> _HiddenRequest:
    from mockserver.cassettes.redaction.credential_fields import CredentialFields

    secrets = replace(find_row_secrets(row), instead=lambda _: _GAP)
    fields = CredentialFields(lambda _: _GAP)
    sent = secrets.mask_bytes(fields.redact_body(decode_request(rebuild_request(row)).body)).decode("utf-8", "replace")
    found = try_parse(sent)
    text = sent if found is None else json.dumps(found).replace("\\ue000", _GAP)
    headers = fields.redact_headers(tuple(field for field in row.headers if not _CONNECTION_HEADER.fullmatch(field[0])))
    named = {name.decode("latin-1"): secrets.mask_bytes(value).decode("utf-8", "replace") for name, value in headers}
    return _HiddenRequest(text, secrets.mask_bytes(fields.redact_query(row.query)).decode("utf-8", "replace"), named)


_CONNECTION_HEADER = re.compile(
    rb"(?i)host|connection|content-(length|encoding)|transfer-encoding|accept-encoding|user-agent|x-stainless-.*|"
    rb"sec-.*|origin|referer|accept-language|priority|expect|te"
)


def _write_request_file(row: Row, _: ControlRequest) -> str:
    """Return a request file, as `mockserver explain` and `POST explain` take it."""
    hidden = _hide_credentials(row)
    content = {
        "method": row.method,
        "path": f"{row.path}{hidden.question}",
        "headers": dict(hidden.headers),
        "body": try_parse(hidden.body, hidden.body),
    }
    return json.dumps(content, indent=2).replace("\\ue000", "...") + "\n"


def _write_rule(row: Row, request: ControlRequest) -> str:
    """Return a rule that gives this call the answer that it got, as an item of `rules`."""
    rule = _make_rule(row, request)
    first, *more = write_yaml_rule(rule.when, rule.then)
    return "\n".join((f"- name: call {row.seq}", first.replace("- ", "  ", 1), *more, ""))


def _write_test(row: Row, request: ControlRequest) -> str:
    """Return a test that declares this rule, and asserts that a call like this one is made."""
    rule = _make_rule(row, request)
    first, *more = (f"    {line}" for line in write_python_rule(rule.when, rule.then))
    lines = first.replace("mockserver.on(", "rule = mockserver.on(", 1), *more
    code = "    ...  # the code that makes the call"
    return "\n".join((f"def test_call_{row.seq}(mockserver):", *lines, code, "    assert rule.calls", ""))


def _make_rule(row: Row, request: ControlRequest) -> Suggestion:
    """Make a rule of a call: with any answer if no rule gives that of the call, or if it holds a credential."""
    secrets = find_row_secrets(row)
    call = parse_call(row, request.live)
    suggested = None if call is None else suggest_rule(call, secrets)
    if suggested is None:
        raise RefusedError(409, f"no rule answers call {row.seq}: its request is refused before any rule is tried")
    retry = next((value for name, value in row.reply_headers if name.lower() == "retry-after"), "")
    try:
        then = make_then(read_answer(row), retry)
    except UnsupportedError:
        return suggested
    text = write_python(then)
    return replace(suggested, then=then) if then and secrets.mask_text(text) == text else suggested


FORMS: Mapping[str, Callable[[Row, ControlRequest], str]] = {
    "curl": _write_curl,
    "rule": _write_rule,
    "pytest": _write_test,
    "request": _write_request_file,
}
