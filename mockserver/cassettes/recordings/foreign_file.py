"""A file of another tool as one value, with the line of each part: unpacked, decoded, and read as JSON or YAML."""

import json
import re
import zlib
from gzip import BadGzipFile, GzipFile
from io import BytesIO

from msgspec import Struct

from mockserver.config.errors import CassetteError, Mistake, SourceLocation
from mockserver.config.yaml_reader import Spot, parse
from mockserver.core.json import Json

MAX_UNPACKED = 200_000_000  # bytes


class ForeignFile(Struct, frozen=True):
    """The content of a file. `spot` has the lines of its parts, which only YAML has; `mistakes`: of its YAML."""

    file: str
    text: str
    root: Json
    spot: Spot | None = None
    mistakes: tuple[Mistake, ...] = ()

    def place(self, path: tuple[str | int, ...]) -> str:
        """The file, with the line of the part at these keys if it is known."""
        if self.spot is None:
            return self.file
        line, _, inner = self.spot
        for key in path:
            if isinstance(key, str):
                line, _, (_, _, inner) = inner[key]
            else:
                line, _, inner = inner[key]
        return f"{self.file}:{line + 1}"


def read_foreign_file(data: bytes, file: str) -> ForeignFile:
    """Read a file. Raises CassetteError if it is empty, damaged, or no text."""
    text = _decode(_unpack(data, file), file)
    if not text.strip():
        raise CassetteError(f"{file}: the file is empty: restore it, or record it again")
    if text.lstrip()[0] in "{[":
        return ForeignFile(file, text, _parse_json(text, file))
    if _OWN.match(text):
        raise CassetteError(f"{file}: this is a mockserver cassette already: move it into the cassettes folder")
    root, spot, problems = parse(text, binary=True)
    return ForeignFile(file, text, root, spot, tuple(_yaml_mistake(problem, text, file) for problem in problems))


def _unpack(data: bytes, file: str) -> bytes:
    """The content of a gzip file, or the data of any other, within the limit. Raises CassetteError."""
    if not data.startswith(_GZIP):
        return data
    unpacked = bytearray()
    try:
        with GzipFile(fileobj=BytesIO(data)) as packed:
            while piece := packed.read(_PIECE):
                unpacked += piece
                if len(unpacked) > MAX_UNPACKED:
                    limit = f"{MAX_UNPACKED // 1_000_000} MB"
                    raise CassetteError(f"{file}: larger than {limit} when unpacked: split it into smaller files")
    except EOFError:
        why = f"the gzip file is cut off after {len(data):,} bytes"
    except (BadGzipFile, zlib.error):
        why = "the gzip file is damaged"
    else:
        return bytes(unpacked)
    raise CassetteError(f"{file}: {why}: restore it, or record it again")


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        packed = next((kind for start, kind in _PACKED.items() if data.startswith(start)), None)
        if packed is not None:
            raise CassetteError(f"{file}: the file is packed with {packed}: unpack it first") from None
        if data.startswith(_UTF_16):
            raise CassetteError(f"{file}: the file is in UTF-16: save it as UTF-8") from None
        at = error.start
        raise CassetteError(f"{file}: no recording: it is not text, but has binary data at byte {at:,}") from None


def _parse_json(text: str, file: str) -> Json:
    try:
        return json.loads(text)
    except RecursionError:
        raise CassetteError(f"{file}: the JSON of this file is nested too deep") from None
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            words = f"the file breaks off in the middle of its JSON: {_REMEDY}"
        else:
            words = f"the file is not valid JSON here ({error.msg}): correct it, or record it again"
        raise CassetteError(Mistake(words, SourceLocation(file, error.lineno, error.colno))) from None
    except ValueError:
        raise CassetteError(f"{file}: a number of this file has too many digits") from None


def _yaml_mistake(problem: tuple[str, int, int], text: str, file: str) -> Mistake:
    words, line, column = problem
    if line >= text.rstrip().count("\n"):  # in the last line
        words += f". Does the file break off here? Then {_REMEDY}"
    return Mistake(words, SourceLocation(file, line + 1, column + 1))


_GZIP = b"\x1f\x8b"
_PACKED = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PIECE = 1 << 20
_REMEDY = "restore it, or record it again"
_OWN = re.compile(r"(?:#[^\n]*+\n|(?:---)?[ \t\r]*+\n)*+version:[ \t]*+\d++[ \t\r]*+\n---")
