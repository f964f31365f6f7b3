"""Where in a test something stands: the line of the test's own code that called us."""

import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType

from mockserver.core.errors import Place


def caller() -> Place:
    """The line outside of this package that is at work, with its text."""
    frame = _calling()
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n")
    return Place(near(file), line, len(text) - len(text.lstrip()) + 1, text)


def beside(path: str | Path) -> Path:
    """A file that is named beside the file of who calls us, or else from the working directory."""
    there = Path(_calling().f_code.co_filename).parent / path
    return there if there.exists() else Path(path)


def _calling() -> FrameType:
    return next(frame for frame in _frames() if not frame.f_code.co_filename.startswith(_HOUSE))


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def near(file: str | Path) -> str:
    """A file as people find it from where they are."""
    return _near(str(file), os.getcwd())


@lru_cache(maxsize=256)
def _near(file: str, folder: str) -> str:
    path, here = Path(file), Path(folder)
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


_HOUSE = str(Path(__file__).parents[1])
