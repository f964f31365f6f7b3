"""What a misspelt method or attribute of a test's objects may have been meant for."""

from typing import TYPE_CHECKING, Any

from mockserver.config.source import did_you_mean

__tracebackhide__ = True  # pytest shows the line of the test instead


class NamesNearest:
    """An object whose AttributeError names the nearest of its public attributes."""

    if not TYPE_CHECKING:  # else type checkers would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if hasattr(kind, name):  # a property raised the error, which is raised again
                return object.__getattribute__(self, name)
            raise AttributeError(f'{kind.__name__} has no "{name}"{_suggest(name, kind)}')


def _suggest(name: str, kind: type) -> str:
    """Return what the name may be meant for: one that is nearly the same, else all, those that it begins with first."""
    if name.startswith("_"):
        return ""
    known = [each for each in dir(kind) if not each.startswith("_")]
    near = did_you_mean(name, known)
    if near:
        return near
    beginnings = [each for each in known if name.startswith(f"{each}_")]
    return f'; did you mean "{beginnings[-1]}"?' if beginnings else f"; it has {', '.join(known)}"
