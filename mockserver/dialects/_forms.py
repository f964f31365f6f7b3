"""Multipart bodies (RFC 7578): the fields and files of a form."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from logging import CRITICAL, Logger
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct

from mockserver.core.http import HttpRequest, read_media_type
from mockserver.core.json import Json, try_parse
from mockserver.core.kept_objects import Data
from mockserver.core.plan import Failure
from mockserver.dialects._parse import clip
from mockserver.media.large_data import LARGEST_IN_MEMORY, DataWriter, read_data

MAX_PARTS = 10_000
MAX_FIELDS = 16_000_000  # bytes of all parts other than files, which are read into memory
_SMALL_PART = 1_000  # bytes of a part that never go to disk
_HEAD = 64 << 10  # bytes
_SILENT = Logger("forms", CRITICAL)  # the parser would log each broken body that a client sends


class Part(Struct, frozen=True):
    """One part of a form: a field, or a file."""

    name: str
    content: Data
    file_name: str | None = None
    media_type: str | None = None

    @property
    def data(self) -> bytes:
        """The whole content, which may be large."""
        return read_data(self.content)

    @property
    def head(self) -> bytes:
        """The first bytes of the content, which tell what a file is."""
        return read_data(self.content, _HEAD)

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def is_file(self) -> bool:
        """Whether it has a file name, or the media type of bytes that have none."""
        return self.file_name is not None or read_media_type(self.media_type or "") == "application/octet-stream"


class Form(Struct, frozen=True):
    """The parts of a form, in the order in which they were sent."""

    parts: tuple[Part, ...] = ()

    def find_files(self, *names: str) -> tuple[Part, ...]:
        """Return the files of these fields, which may be written as arrays: `image`, `image[]`, `image[0]`."""
        return tuple([part for part in self.parts if part.is_file and part.name.partition("[")[0] in names])

    def list_fields(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each field that is not a file."""
        return ((part.name, part.text) for part in self.parts if not part.is_file)


def write_form(fields: Mapping[str, Json | bytes]) -> tuple[str, bytes]:
    """Return the `Content-Type` and the body of a form; bytes are files."""
    boundary = sha256(repr(fields).encode()).hexdigest()
    parts = list[bytes]()
    for name, value in fields.items():
        if isinstance(value, bytes):
            ending = "wav" if value.startswith(b"RIFF") else "png"
            head = f'name="{name}"; filename="{name}.{ending}"'
            content = value
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            head = f'name="{name}"'
            content = text.encode()
        parts.append(f"--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n")
    return f"multipart/form-data; boundary={boundary}", b"".join((*parts, f"--{boundary}--\r\n".encode()))


def read_form(http: HttpRequest) -> Form:
    """Return the form in a request. Raises ValueError that says what is wrong with it."""
    if http.form is not None:
        form: Form = http.form.finish()
        return form
    reader = FormReader(http.find_header("content-type") or "")
    reader.write(http.body)
    return reader.finish()


class FormReader:
    """Reads the body of a form piece by piece; what is large, or too much together, is kept on disk.

    `held` are the bytes in memory. Raises ValueError for a `Content-Type` other than a form's.
    """

    def __init__(self, content_type: str) -> None:
        from python_multipart.multipart import MultipartParser, parse_options_header  # it takes 20 ms, and few need it

        media, options = parse_options_header(content_type)
        if media.lower() != b"multipart/form-data":
            raise ValueError("the content type is not multipart/form-data")
        boundary = options.get(b"boundary")
        if not boundary:
            raise ValueError("the content type has no boundary")
        self._parts: list[Part] = []
        self._problem = ""
        self._ended = False
        self._writer = DataWriter()
        self._ended_held = 0  # bytes in memory of the parts that have ended
        self._field_size = 0  # bytes of the parts other than files
        self._header: tuple[bytearray, bytearray] = (bytearray(), bytearray())
        self._headers: dict[bytes, bytes] = {}
        callbacks: Any = {
            "on_part_begin": self._begin,
            "on_part_data": self._add_data,
            "on_part_end": self._end,
            "on_header_field": self._add_name,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_end": self._end_form,
        }
        self._parser: Any = MultipartParser(boundary, callbacks)
        self._parser.logger = _SILENT

    @property
    def held(self) -> int:
        return self._ended_held + self._writer.held

    def write(self, piece: bytes) -> None:
        """Read the next piece of the body; a mistake in it is reported at the end.

        Raises Failure (507) if the disk does not take it.
        """
        from python_multipart.exceptions import FormParserError

        if self._problem:
            return
        try:
            self._parser.write(piece)
        except (FormParserError, ValueError) as error:
            self.close(str(error))

    def finish(self) -> Form:
        """Return the form. Raises ValueError that says what is wrong with the body."""
        if not self._problem:
            self.close("" if self._ended else "the body ends before its last boundary")
        if self._problem:
            raise ValueError(self._problem)
        return Form(tuple(self._parts))

    def close(self, problem: str) -> None:
        """Read no more; if there is a problem, nothing of what was read is kept here."""
        self._problem = problem
        self._parser = None  # the parser refers to this object: no cycle stays
        if problem:
            self._parts.clear()
            self._writer.discard()

    def _begin(self) -> None:
        if len(self._parts) >= MAX_PARTS:
            raise ValueError(f"the body has more than {MAX_PARTS:,} parts")
        self._writer = DataWriter(max(LARGEST_IN_MEMORY - self._ended_held, _SMALL_PART))
        self._headers = {}

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._writer.write(memoryview(data)[start:end])

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._header[0].extend(data[start:end])

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._header[1].extend(data[start:end])

    def _end_header(self) -> None:
        name, value = self._header
        self._headers[bytes(name.lower())] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _end(self) -> None:
        from python_multipart.multipart import parse_options_header

        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = options.get(b"name")
        file_name = options.get(b"filename")
        media_type = self._headers.get(b"content-type")
        content = self._writer.finish()
        self._ended_held += self._writer.held + sum(map(len, self._headers.values()))
        self._writer = DataWriter()
        if name is None:
            return
        part = Part(
            name=name.decode("utf-8", "replace"),
            content=content,
            file_name=None if file_name is None else file_name.decode("utf-8", "replace"),
            media_type=None if media_type is None else media_type.decode("latin-1"),
        )
        self._field_size += 0 if part.is_file else len(content)
        if self._field_size > MAX_FIELDS:
            raise ValueError(f"the fields other than files have more than {MAX_FIELDS:,} bytes")
        self._parts.append(part)

    def _end_form(self) -> None:
        self._ended = True


def nest_fields(form: Form) -> dict[str, Json]:
    """Return the fields of a form as clients mean them: `a[b]` is a key of an object, `a[]` an entry of a list.

    Values stay texts, but for JSON objects, as some clients send them, and the numbers in nested fields.
    """
    body: dict[str, Json] = {}
    for name, text in form.list_fields():
        key, _, rest = name.partition("[")
        inner = rest.rstrip("]")
        if not rest:
            body[key] = _read_object(text)
        elif not inner or inner.isdecimal():
            listed = body.setdefault(key, [])
            if isinstance(listed, list):
                listed.append(text)
        else:
            table = body.setdefault(key, {})
            if isinstance(table, dict):
                table[inner] = int(text) if text.isdecimal() and len(text) < _LONG else text
    return body


_LONG = 16  # digits, more than any number of a form has


def _read_object(text: str) -> Json:
    parsed = try_parse(text) if text.startswith("{") else None
    return text if parsed is None else parsed


def parse_form(http: HttpRequest, *, takes_urlencoded: bool = False) -> Form:
    """Return the form in a request. Raises Failure if it has none.

    With `takes_urlencoded`, a form without files may also be written like a query.
    """
    content_type = http.find_header("content-type") or ""
    if takes_urlencoded and content_type.lower().startswith("application/x-www-form-urlencoded"):
        fields = parse_qsl(http.body.decode("utf-8", "replace"), keep_blank_values=True)
        return Form(tuple([Part(name, value.encode()) for name, value in fields]))
    try:
        return read_form(http)
    except ValueError as why:
        if "multipart/form-data" not in content_type.lower():
            message = f"Invalid Content-Type header ({clip(content_type)}), expected multipart/form-data."
            raise Failure("bad_parameter", message=message, code="unsupported_content_type") from None
        raise Failure("bad_parameter", message=f"Could not parse multipart form: {clip(str(why))}") from None
