"""The pictures and recordings that clients upload, and which files cannot be either.

The first bytes of a file say what it is, or its media type, or the ending of its name. Tests often send placeholders:
unknown bytes are accepted unless type or name say that they are something else. `validation: live` refuses them.
"""

from mockserver.core.http import read_media_type
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._forms import Part
from mockserver.dialects._parse import clip
from mockserver.media.file_kinds import PICTURES, find_picture_size, is_sound, recognize
from mockserver.media.sound_files import find_wave

SOUND_ENDINGS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
_UNTYPED = "application/octet-stream"  # what clients send that do not know the type
_SHORTEST = 0.1  # seconds of a recording
_MAX_RECORDING = 25 << 20  # bytes of a recording
_TYPES = {
    **dict.fromkeys(SOUND_ENDINGS, "audio/mpeg"),
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
}


def check_picture(file: Part, what: str, validation: Validation) -> None:
    """Raise Failure unless a file can be a picture that is edited; `what` names it: `image 1`, or `mask`."""
    found = recognize(file.head)
    stated = _find_stated_type(file)
    is_placeholder = bool(file.content) and found is None and (stated is None or stated in PICTURES)
    if validation is Validation.OFF or (is_placeholder and validation is not Validation.LIVE):
        return
    if stated not in PICTURES and (found is None or validation is Validation.LIVE):
        message = (
            f"Invalid file '{clip(file.name)}': unsupported mimetype ('{clip(stated or _UNTYPED)}'). "
            "Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'."
        )
        raise Failure("bad_parameter", message, code="unsupported_file_mimetype", param=file.name)
    if found not in PICTURES or find_picture_size(file.head) is None:
        message = (
            f"Invalid image file or mode for {what}, please check your image file. If you believe this is an error, "
            "contact us at help.openai.com and include the request ID."
        )
        raise Failure("bad_parameter", message, kind="image_generation_user_error", code="invalid_image_file")


def check_recording(file: Part, model: str, validation: Validation) -> None:
    """Raise Failure unless a file can be a recording, in the words of the model that is to hear it."""
    found = recognize(file.head)
    stated = _find_stated_type(file)
    is_live = validation is Validation.LIVE
    is_placeholder = bool(file.content) and found is None and (stated is None or is_sound(stated))
    if validation is Validation.OFF or (is_placeholder and not is_live):
        return
    ending = (file.file_name or "").rpartition(".")[2].lower()
    is_other = found is None and stated is not None and not is_sound(stated)
    if is_other or (is_live and ending not in SOUND_ENDINGS):
        raise Failure("bad_parameter", f"Invalid file format. Supported formats: {list(SOUND_ENDINGS)}")
    if is_live and len(file.content) > _MAX_RECORDING:
        message = f"413: Maximum content size limit ({_MAX_RECORDING}) exceeded ({len(file.content)} bytes read)"
        raise Failure("too_large", message, kind="server_error")
    wave = find_wave(file.head, len(file.content)) if found == "audio/wav" else None
    if not file.content or (wave is not None and wave.seconds < _SHORTEST):
        message = f"Audio file is too short. Minimum audio length is {_SHORTEST} seconds."
        raise Failure("bad_parameter", message, code="audio_too_short")
    if found is None or not is_sound(found):
        if "gpt-4o" in model:
            message = "Audio file might be corrupted or unsupported"
            raise Failure("bad_parameter", message, param="file", code="invalid_value")
        raise Failure("bad_parameter", "The audio file could not be decoded or its format is not supported.")


def _find_stated_type(file: Part) -> str | None:
    """Return the media type that the client states, or the ending of the name; None if neither tells any."""
    stated = read_media_type(file.media_type or "")
    if stated and stated != _UNTYPED:
        return stated
    return _TYPES.get((file.file_name or "").rpartition(".")[2].lower())
