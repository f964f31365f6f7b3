"""The names of the cassettes in a folder."""

import re
from pathlib import Path

from mockserver.config.errors import CassetteError
from mockserver.config.source import did_you_mean
from mockserver.core.episode import SUFFIX


def find_path(folder: Path, name: str) -> Path:
    """Return the path of a cassette in a folder. Raises CassetteError for an invalid name."""
    parts = name.removesuffix(SUFFIX).split("/")
    if len(name) > _MAX_NAME or not all(map(_may_be_part, parts)):
        raise CassetteError(
            f"{name[:100]!a} is not a valid cassette name: use letters, digits and characters such as - _ . [ ], "
            f"and / for folders within {folder}"
        )
    path = folder.joinpath(*parts[:-1], parts[-1] + SUFFIX)
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise CassetteError(f"{path}: {error}") from None
    if not is_inside:
        raise CassetteError(f"{path}: this link leads out of {folder}, where cassettes must be")
    return path


def list_names(folder: Path) -> tuple[str, ...]:
    """Return the cassettes of a folder, in alphabetical order; none if the folder does not exist."""
    found = (path.relative_to(folder) for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    visible = (path for path in found if not any(part.startswith(".") for part in path.parts))
    return tuple(sorted(path.as_posix().removesuffix(SUFFIX) for path in visible))


def describe_missing(folder: Path, name: str) -> str:
    """Return the message that a cassette does not exist, with those that do."""
    existing = list_names(folder)
    plain = name.removeprefix(f"{folder}/").removesuffix(SUFFIX)
    words = f'there is no cassette "{name[:120]}" in {folder}'
    listed = f"; there are {', '.join(existing[:_MAX_LISTED])}" if existing else ""
    return words + (did_you_mean(plain, existing) or listed)


def _may_be_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and len(part.encode("utf-8", "replace")) <= _MAX_PART


_PART = re.compile(r"[\w\[](?:[\w .@+=,()\[\]~-]*+(?<![ .]))?")
_MAX_PART = 200  # bytes, which leaves room for the names of related files
_MAX_NAME = 1000  # characters
_MAX_LISTED = 10  # cassettes in a message
