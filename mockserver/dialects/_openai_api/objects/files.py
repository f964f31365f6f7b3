"""Files that clients upload (https://platform.openai.com/docs/api-reference/files)."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from msgspec import Struct

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, find_in
from mockserver.core.kept_objects import Data, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel, integer, literal, optional, shape
from mockserver.dialects._forms import nest_fields, parse_form
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint, clip, read_body, read_json
from mockserver.kinds.kept import FILES
from mockserver.kinds.objects import Objects
from mockserver.media.large_data import list_lines

PURPOSES = ("fine-tune", "assistants", "batch", "user_data", "vision", "evals")
_MONTH = 2_592_000  # seconds, after which a file of a batch expires
EXPIRY = shape(anchor=literal("created_at"), seconds=integer())


class Files(Resource):
    kind = FILES
    path = "/files"
    type = "file"
    deleted = "file"
    ids = IdShape("file-", 22)
    unknown = "No such File object: {id}"
    fields = BodyModel(shape(purpose=str, expires_after=optional(EXPIRY)))
    page_size = largest_page = 10_000
    filters: ClassVar[Mapping[str, str]] = {"purpose": "purpose"}
    usual_purpose: ClassVar[str] = "user_data"  # of a file that is made up, as its id is unknown

    def read(self, http: HttpRequest, validation: Validation) -> New:
        form = parse_form(http)
        body = nest_fields(form)
        files = form.find_files("file")
        if not files:
            raise self.api.refuse(Complaint("missing", ("file",)))
        if "purpose" not in body and validation is not Validation.OFF:
            raise Failure("bad_parameter", message="'purpose' is a required property")
        _, parsed = read_body(
            self.fields, {"purpose": self.usual_purpose, **body}, refuse=self.api.refuse, validation=validation
        )
        new = New(fields=parsed, data=files[0].content, file_name=files[0].file_name or "upload")
        purpose = new.fields["purpose"]
        if purpose not in PURPOSES and validation is not Validation.OFF:
            raise Failure("bad_parameter", message=f"{clip(purpose)!r} is not one of {list(PURPOSES)} - 'purpose'")
        if purpose == "batch" and not new.file_name.endswith(".jsonl") and validation is Validation.LIVE:
            raise Failure("bad_parameter", message="Invalid file format for Batch API. Must be .jsonl")
        return new

    async def make(self, new: New, objects: Objects) -> Body:
        purpose = new.fields.get("purpose", self.usual_purpose)
        return {
            "purpose": purpose,
            "filename": new.file_name or "file.txt",
            "bytes": len(new.data),
            "expires_at": find_expiry(new.fields, new.created, usual=_MONTH if purpose == "batch" else None),
            "status": "processed",
            "status_details": None,
        }

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        return Failure("not_found", message=self.unknown.format(id=clip(name)), param="id")

    @serve("GET", "content")
    async def file_content(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        disposition = f'attachment; filename="{quote_file_name(kept.body["filename"])}"'
        headers = (("content-type", "application/octet-stream"), ("content-disposition", disposition))
        return ObjectView(data=kept.data, headers=headers)


class FileRow(Struct, frozen=True):
    """A line of JSON in a file, by its number from 1; its value is None if no request could have it as a body."""

    number: int
    value: Any


def read_rows(data: Data, most: int) -> list[FileRow]:
    """Return the lines of JSON in a file, `most` at most, without those that are empty."""
    rows = list[FileRow]()
    for number, line in enumerate(list_lines(data), 1):
        if not line.strip():
            continue
        try:
            rows.append(FileRow(number, read_json(line)))
        except Failure:
            rows.append(FileRow(number, None))
        if len(rows) == most:
            break
    return rows


def find_expiry(fields: Mapping[str, Json], created: int, *, usual: int | None = None) -> int | None:
    """Return the Unix time at which an object that was created then expires; None if it never does."""
    stated = fields.get("expires_after")
    seconds = stated.get("seconds", usual) if isinstance(stated, dict) else usual
    return created + seconds if isinstance(seconds, int) else None


def quote_file_name(name: str) -> str:
    """Return a file name as a header field can have it between quotes, without what would lead into a folder."""
    last = name.replace("\\", "/").rpartition("/")[2].strip(". ") or "file"
    return "".join([each if " " <= each <= "~" and each != '"' else "_" for each in last])


def list_file_ids(call: Call) -> Iterator[str]:
    """Yield the ids of the files and images in a prompt."""
    for part in [part for message in call.messages for part in message.parts]:
        name = find_in(part, str(part.get("type")), "file_id")
        if isinstance(name, str) and name:
            yield name
