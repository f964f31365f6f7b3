"""What only OpenAI's live API requires of images and files that a request has in itself, in the words of reports."""

from base64 import b64decode
from collections.abc import Iterator

from mockserver.core.json import Json
from mockserver.dialects._parse import Complaint, Path, clip, write_path
from mockserver.media.file_kinds import is_sound

_IMAGE = "an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"
_PDF = "an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ==')"
_FILE = "a valid file MIME type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ==')"
_GUIDE = "https://platform.openai.com/docs/assistants/tools/file-search#supported-files"
_CHECKED = 1 << 12  # characters of base64, which are a whole number of bytes


def find_wrong_chat_image(url: Json, path: Path) -> Iterator[Complaint]:
    """Yield why a chat's image is refused: its URL is neither one of the web nor an image itself."""
    if isinstance(url, str) and not _is_of_web(url) and (why := _explain(url, is_image=True)):
        yield _complain(f"Invalid image URL: '{write_path(path)}'. {_expect(_IMAGE, why)}.", path)


def find_wrong_chat_file(data: Json, path: Path) -> Iterator[Complaint]:
    """Yield why the data of a chat's file are refused: chats take PDF only."""
    if isinstance(data, str) and (why := _explain(data, is_image=False)):
        yield _complain(f"Invalid file data: '{write_path(path)}'. {_expect(_PDF, why)}.", path)


def find_wrong_input_image(url: Json, path: Path) -> Iterator[Complaint]:
    """Yield why an image of a response's input is refused."""
    if not isinstance(url, str) or _is_of_web(url):
        return
    if not url.startswith("data:"):
        expected = "Expected a valid URL, but got a value with an invalid format"
        yield _complain(f"Invalid '{write_path(path)}'. {expected}.", path)
    elif why := _explain(url, is_image=True):
        yield _complain(f"Invalid '{write_path(path)}'. {_expect(_IMAGE, why)}.", path)


def find_wrong_input_file(data: Json, path: Path) -> Iterator[Complaint]:
    """Yield why a file of a response's input is refused: it is a sound or a film."""
    media = _read_media_type(data) if isinstance(data, str) else ""
    if is_sound(media):
        why = f"unsupported MIME type '{clip(media)}'"
        see = f"Please see {_GUIDE} for supported file types."
        yield _complain(f"Invalid file data: '{write_path(path)}'. {_expect(_FILE, why)}. {see}", path)


def _complain(message: str, path: Path) -> Complaint:
    return Complaint("value", path, message=message)


def _expect(media: str, why: str) -> str:
    return f"Expected a base64-encoded data URL with {media}, but got {why}"


def _is_of_web(url: str) -> bool:
    return url.lower().startswith(("http:", "https:"))


def _read_media_type(url: str) -> str:
    """Return the media type of a data URL; empty for another text."""
    return url[5:].partition(",")[0].partition(";")[0].strip().lower() if url.startswith("data:") else ""


def _explain(url: str, *, is_image: bool) -> str | None:
    """Return what a text is instead of an image or a PDF as a data URL; None if it may be one."""
    if not url.startswith("data:"):
        return "a value without the 'data:' prefix"
    media = _read_media_type(url)
    if not (media.startswith("image/") if is_image else media == "application/pdf"):
        return f"unsupported MIME type '{clip(media)}'"
    data = "".join(url.partition(",")[2][: 2 * _CHECKED].split())
    if not data:
        return "empty base64-encoded bytes"
    try:
        b64decode(data[:_CHECKED], validate=True)
    except ValueError:
        return "an invalid base64-encoded value"
    return None
