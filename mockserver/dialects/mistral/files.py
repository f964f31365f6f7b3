"""Files at Mistral (https://docs.mistral.ai/api/endpoint/files), which jobs, chats and OCR read.

Where the pages are silent, refusals are as users have reported them.
"""

import hmac
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message, PlainMessages
from mockserver.core.http import Headers, HttpRequest, read_media_type
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel, integer, literal, optional, shape
from mockserver.dialects._forms import Form, nest_fields, read_form
from mockserver.dialects._openai_api.objects.files import FileRow, Files, list_file_ids, read_rows
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi, Resource, serve
from mockserver.dialects._parse import Body, Complaint, Parse, clip, read_bearer, read_body
from mockserver.dialects.mistral.errors import fail, refuse, write_header_lines
from mockserver.dialects.mistral.request import NAME
from mockserver.kinds.kept import FILES
from mockserver.kinds.objects import Beginning, Objects
from mockserver.media.file_kinds import recognize
from mockserver.media.large_data import hash_data
from mockserver.wire.parts import write_moment

API = ObjectsApi(NAME, write_header_lines, fail=fail, refuse=refuse)
MAX_LINES = 1_000_000
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HOUR = 3_600  # seconds
_LONGEST_HOURS = 168  # for which a signed URL can hold
_UNTYPED = "application/octet-stream"
_SAMPLE_TYPES = {"batch": "batch_request", "ocr": "ocr_input"}  # by purpose; others have `instruct`


class MistralResource(Resource):
    """Objects as Mistral has them: with UUIDs, and lists whose pages are numbered from 0."""

    ids = IdShape("", 32, "uuid")
    words: ClassVar[Mapping[str, Sequence[str]]] = {}
    poll_headers: ClassVar[Headers] = ()

    def check_url(self, http: HttpRequest, validation: Validation) -> None:
        name = http.path_params.get("id")
        if validation is Validation.LIVE and name is not None and not _UUID.fullmatch(name):
            why = "Input should be a valid UUID"
            place = ["path", "file_id" if self.type == "file" else "job_id"]
            detail = {"type": "uuid_parsing", "loc": place, "msg": why, "input": name}
            raise Failure("unprocessable", why, details={"detail": [detail]})

    def is_listed(self, kept: KeptObject, query: Mapping[str, str]) -> bool:
        shown = self.show(kept)
        return all(shown[field] in query[name].split(",") for name, field in self.filters.items() if name in query)

    async def make_page(self, kept: Sequence[KeptObject], query: Mapping[str, str], objects: Objects) -> Body:
        listed = [self.show(each) for each in kept if self.is_listed(each, query)]
        if query.get("order_by") != "created":
            listed.reverse()
        size = read_count(query, "page_size", usual=100)
        start = read_count(query, "page", usual=0) * size
        total = None if query.get("include_total") == "false" else len(listed)
        return {"data": listed[start : start + size], "object": "list", "total": total}

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        return Failure("not_found", self.unknown, details={"detail": self.unknown})


def read_count(query: Mapping[str, str], name: str, *, usual: int) -> int:
    """Return a number that a query states; one that makes no sense is ignored."""
    stated = query.get(name, "")
    return int(stated) if stated.isdecimal() and len(stated) < 9 else usual


class MistralFiles(MistralResource, Files):
    unknown = "No file matches the given query."
    fields = BodyModel(
        shape(
            purpose=optional(literal("fine-tune", "batch", "ocr", "agentic_safety")),
            expiry=optional(integer(1)),
            visibility=optional(literal("workspace", "user")),
        )
    )
    filters: ClassVar[Mapping[str, str]] = {"purpose": "purpose", "source": "source", "sample_type": "sample_type"}
    file_content = serve("GET", "content", "content/{name}")(Files.file_content.work)

    def read(self, http: HttpRequest, validation: Validation) -> New:
        try:
            form = read_form(http)
        except ValueError:
            form = Form()
        sent = form.find_files("file")
        if not sent:
            raise refuse(Complaint("missing", ("file",)))
        stated = nest_fields(form)
        expiry = str(stated.get("expiry"))
        if expiry.isdecimal() and len(expiry) < 9:
            stated["expiry"] = int(expiry)
        parsed = read_body(self.fields, stated, refuse=refuse, validation=validation).parsed
        name = sent[0].file_name or "upload"
        media_type = read_media_type(sent[0].media_type or "")
        if media_type in ("", _UNTYPED):
            media_type = recognize(sent[0].head) or ("application/jsonl" if name.endswith(".jsonl") else _UNTYPED)
        purpose = parsed.get("purpose") or "fine-tune"
        rows = read_rows(sent[0].content, MAX_LINES) if purpose in ("batch", "fine-tune") else []
        if validation is not Validation.OFF:
            _check_rows(rows, purpose)
        fields = {**parsed, "purpose": purpose, "mimetype": media_type, "num_lines": len(rows)}
        return New(fields=fields, data=sent[0].content, file_name=name)

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        if statuses:
            objects.refuse_statuses()
        # The service gives a file that comes again the id that it has.
        return await super().create(replace(new, id=new.id or objects.derive_id(self.ids)), objects)

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        purpose = fields.get("purpose", "ocr")
        expiry = fields.get("expiry")
        return {
            "bytes": len(new.data),
            "filename": new.file_name or "file.txt",
            "purpose": purpose,
            "sample_type": fields.get("sample_type") or _SAMPLE_TYPES.get(purpose, "instruct"),
            "num_lines": fields.get("num_lines", 0),
            "mimetype": fields.get("mimetype", _UNTYPED),
            "source": "mistral" if "sample_type" in fields else "upload",
            "signature": hash_data(new.data)[:32],
            "expires_at": new.created + expiry * _HOUR if expiry else None,
            "visibility": fields.get("visibility") or "workspace",
        }

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        shown = self.show(kept)
        return {**shown, "deleted": False} if objects.call.operation == self.kind.name else shown

    def check_url(self, http: HttpRequest, validation: Validation) -> None:
        super().check_url(http, validation)
        hours = read_count(http.query, "expiry", usual=24)
        if validation is not Validation.OFF and not 1 <= hours <= _LONGEST_HOURS:
            kind, bound = ("above", _LONGEST_HOURS) if hours else ("below", 1)
            raise refuse(Complaint(kind, ("expiry",), got=hours, bound=bound), "query")

    def is_listed(self, kept: KeptObject, query: Mapping[str, str]) -> bool:
        return super().is_listed(kept, query) and query.get("search", "") in kept.body["filename"]

    @serve("GET", "url")
    async def file_url(self, call: Call, objects: Objects) -> ObjectView:
        """Return a URL of this server that is signed with the key with which it was asked for."""
        kept = await self.find_asked(call, objects)
        http = call.http
        hours = read_count(http.query, "expiry", usual=24)
        path = f"{http.path.removesuffix('/url')}/content/{kept.body['filename'].rpartition('/')[2] or 'file'}"
        end = write_moment(objects.now + hours * _HOUR)
        query = urlencode({"se": end, "sp": "r", "sig": _sign(read_bearer(http) or "", file=kept.id, end=end)})
        return ObjectView({"url": f"{http.server_url}{quote(path)}?{query}"})


def is_signed(http: HttpRequest, key: str) -> bool:
    """Return whether the URL of a request was signed with a key, for the file that it leads to."""
    if http.method not in ("GET", "HEAD") or "name" not in http.path_params:
        return False
    expected = _sign(key, file=http.path_params["id"], end=http.query.get("se", ""))
    return hmac.compare_digest(expected.encode(), http.query.get("sig", "").encode())


def _sign(key: str, *, file: str, end: str) -> str:
    """Return the signature of a URL that leads to a file until a time; it does not tell the key."""
    return b64encode(hmac.digest(key.encode(), f"{file} {end}".encode(), "sha256")).decode()


def _check_rows(rows: Sequence[FileRow], purpose: str) -> None:
    """Raise Failure for lines that a file with this purpose cannot have."""
    errors = list[Json]()
    for row in rows:
        if not isinstance(row.value, dict):
            why = "line contains invalid json: unexpected character: line 1 column 1"
        elif purpose == "batch" and not isinstance(row.value.get("body"), dict):
            why = "body: Field required"
        else:
            continue
        errors.append({"message": why, "line_number": row.number})
    if errors:
        count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
        formats = "https://docs.mistral.ai/capabilities/finetuning"
        details: Mapping[str, Any] = {
            "detail": "Invalid file format.",
            "description": f"Found {count} in this file. You can view supported formats here: {formats}. ",
            "errors": errors,
        }
        raise Failure("unprocessable", details["detail"], details=details)


class FileReferences(Struct, frozen=True):
    """The `References` of a call: the ids of the files in it; `is_document`: OCR reads the only one."""

    names: Sequence[str]
    is_document: bool = False

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the name of a document as what the user says, in place of its id. Raises Failure."""
        for name in self.names:
            kept = await objects.find(FILES.made_by, name)
            if (kept is None and not objects.invents) or (kept is not None and kept.gone):
                message = f"File '{clip(name)}' does not exist."
                raise Failure("bad_parameter", message, kind="invalid_request_file", code="3310")
            if kept is not None and self.is_document:
                return Beginning((Message("user", kept.body["filename"]),))
        return Beginning()

    async def write(self, call: Call, answer: Any, objects: Objects, *, is_generated: bool) -> Any:
        """Return the answer as it is."""
        return answer


def refer_to_files(parse: Parse) -> Parse:
    """Return the `parse` of chats whose messages may name files."""

    def parse_with_files(http: HttpRequest, validation: Validation) -> Call:
        call = parse(http, validation)
        names = () if type(call.messages) is PlainMessages else tuple(list_file_ids(call))
        return replace(call, references=FileReferences(names)) if names else call

    return parse_with_files
