"""Who calls: the line of a test, and the user's own code, as messages show them."""

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from types import FrameType

from mockserver.config.errors import SourceLocation

__tracebackhide__ = True  # pytest shows the line of the test instead


def find_caller() -> SourceLocation:
    """Return the innermost line outside this package, with its text."""
    frame = _find_calling_frame()
    file = frame.f_code.co_filename
    line = frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n")
    return SourceLocation(shorten_path(file), line, column=len(text) - len(text.lstrip()) + 1, text=text)


def resolve_path(path: str | Path) -> Path:
    """Return a path relative to the calling file, if that exists, or to the working directory."""
    there = Path(_find_calling_frame().f_code.co_filename).parent / path
    return there if there.exists() else Path(path)


def _find_calling_frame() -> FrameType:
    return next(frame for frame in walk_frames(sys._getframe(1)) if not frame.f_code.co_filename.startswith(PACKAGE))


def walk_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def find_test_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Return a frame and its callers as far as pytest's."""
    return takewhile(lambda each: _PYTEST not in each.f_code.co_filename, walk_frames(frame))


def is_user_file(file: str) -> bool:
    """Return whether a file of code is below the working directory, and not installed there."""
    return file.startswith(f"{os.getcwd()}{os.sep}") and not file.startswith(_FOREIGN)


def find_user_line(frames: Iterable[FrameType]) -> str:
    """Return the first line of the user's own code, such as `app.py:12`; empty if there is none."""
    found = next((frame for frame in frames if is_user_file(frame.f_code.co_filename)), None)
    return "" if found is None else f"{shorten_path(found.f_code.co_filename)}:{found.f_lineno}"


def shorten_path(file: str | Path) -> str:
    """Return a path relative to the working directory, if it is below it."""
    return _shorten_path(str(file), os.getcwd())


@lru_cache(maxsize=256)
def _shorten_path(file: str, folder: str) -> str:
    path = Path(file)
    here = Path(folder)
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


PACKAGE = str(Path(__file__).parents[1])
_PYTEST = f"{os.sep}_pytest{os.sep}"
_FOREIGN = (f"{PACKAGE}{os.sep}", *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
