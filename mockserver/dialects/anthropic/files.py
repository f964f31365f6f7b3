"""Files: uploaded, listed, retrieved, read and deleted. Messages can name these, and any others, by `file_id`."""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import Data
from mockserver.core.plan import Failure, Listing, Stored
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._forms import Form, Part, read_form
from mockserver.dialects._parse import look_up
from mockserver.dialects._reply import file_reply, json_reply, moment
from mockserver.dialects.anthropic.bodies import NAME
from mockserver.dialects.anthropic.errors import refuse, request_id_line
from mockserver.dialects.anthropic.models import find_page, read_integer
from mockserver.dialects.anthropic.request import FILES_BETA, list_betas
from mockserver.media.large_data import hash_data

_IDS = IdShape("file_01", 22, "base58")
_PATH = "/v1/files"
_SECONDS = (3600, 7_776_000)  # that a file may be kept, if it expires


def operations() -> tuple[Operation, ...]:
    one = _PATH + "/{id}"
    return (
        Operation("create_file", "POST", _PATH, _parse, _render),
        Operation("files", "GET", _PATH, look_up(NAME, "files"), _render_list),
        Operation("file", "GET", one, look_up(NAME, "file"), _render),
        Operation("delete_file", "DELETE", one, look_up(NAME, "delete_file"), _render_deletion),
        Operation("file_content", "GET", f"{one}/content", look_up(NAME, "file_content"), _render_content),
    )


def _parse(http: HttpRequest, validation: Validation) -> Call:
    try:
        form = read_form(http)
    except ValueError:
        form = Form()
    sent = next((part for part in form.parts if part.name == "file"), None)
    if sent is None or not (sent.is_file or validation is Validation.OFF):
        raise refuse("file: Field required")
    raw = dict[str, Json]({"mime_type": _find_media_type(sent)})
    if sent.file_name is not None:
        raw["filename"] = sent.file_name
    if (expires := dict(form.fields()).get("expires_in_seconds")) is not None:
        try:
            raw["expires_in_seconds"] = read_integer("expires_in_seconds", expires, *_SECONDS)
        except Failure:
            if validation is not Validation.OFF:
                raise
    meaning = {**raw, "sha256": hash_data(sent.content)}
    kept = {**raw, "data": sent.content}
    return Call(
        NAME, "create_file", model="", http=http, meaning=meaning, raw=kept, ids=_IDS, options=Options(store=True)
    )


def _find_media_type(part: Part) -> str:
    """Return the media type of a part, if it is one that a header of a reply can hold."""
    stated = part.media_type or ""
    return stated if _MEDIA_TYPE.fullmatch(stated) else "application/octet-stream"


_MEDIA_TYPE = re.compile(r"[!-~]+/[ -~]*")


def _render(call: Call, kept: Stored) -> Reply:
    return json_reply(200, _render_file(kept), request_id_line(call.http, call))


def _render_list(call: Call, outcome: Listing) -> Reply:
    http = call.http
    listed = [_render_file(entry) for entry in outcome.entries]
    if FILES_BETA in list_betas(http):  # which has another shape of lists
        return json_reply(200, find_page(listed, http), request_id_line(http, call))
    if (wanted := http.query.get("ids[]")) is not None:
        body: Mapping[str, Json] = {"data": [file for file in listed if file["id"] in wanted.split(",")]}
        return json_reply(200, {**body, "next_page": None}, request_id_line(http, call))
    cursor = http.query.get("page")
    after = {} if cursor is None else {"after_id": cursor.removeprefix("page_")}
    shown = find_page(listed, replace(http, query={"limit": http.query.get("limit", "20"), **after}))
    following = f"page_{shown['last_id']}" if shown["has_more"] else None
    return json_reply(200, {"data": shown["data"], "next_page": following}, request_id_line(http, call))


def _render_file(kept: Stored) -> dict[str, Json]:
    raw = kept.call.raw
    created = kept.answer.created
    expires = raw.get("expires_in_seconds")
    return {
        "id": kept.answer.id,
        "type": "file",
        "filename": raw.get("filename", "file.txt"),
        "mime_type": raw.get("mime_type", "text/plain"),
        "size_bytes": len(_read_contents(kept)),
        "created_at": moment(created),
        "downloadable": False,
        "expires_at": None if expires is None else moment(created + expires),
    }


def _read_contents(kept: Stored) -> Data:
    """Return the contents of a file; for one that was not uploaded to this server, a text that names it."""
    data: Data = kept.call.raw.get("data", f"This is the file {kept.answer.id}.\n".encode())
    return data


def _render_deletion(call: Call, kept: Stored) -> Reply:
    return json_reply(200, {"id": kept.answer.id, "type": "file_deleted"}, request_id_line(call.http, call))


def _render_content(call: Call, kept: Stored) -> Reply:
    typed = ("content-type", str(kept.call.raw.get("mime_type", "text/plain")))
    return file_reply(_read_contents(kept), request_id_line(call.http, call), (typed,))
