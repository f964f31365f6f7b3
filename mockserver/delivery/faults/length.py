"""Keeps a head true to its body: who changes how long a plain body is says so in its content-length."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mockserver.core.action import Action, Cut, Head, Spill, Wait, Write
from mockserver.core.http import Headers

LENGTH = "content-length"


def truthful(actions: Iterable[Action]) -> Iterator[Action]:
    """The actions, the head of which states the length that the body now has, if it stated one before.

    A body that does not end in good order keeps the promise that was made of it, unless it is longer than that.
    """
    coming = iter(actions)
    for action in coming:
        promised = length(action.headers) if isinstance(action, Head) else None
        if isinstance(action, Head) and promised is not None:
            rest = tuple(coming)
            size = sum(len(each.data) for each in rest if isinstance(each, Write))
            whole = not any(map(_broken, rest))
            yield with_length(action, size if whole else max(size, promised))
            yield from rest
        else:
            yield action


def length(headers: Headers) -> int | None:
    """The length that headers state."""
    stated = next((value for name, value in headers if name.lower() == LENGTH), "")
    return int(stated) if stated.isdecimal() else None


def with_length(head: Head, size: int) -> Head:
    """The head with this length, where its own stood, else at its end."""
    return with_header(head, LENGTH, str(size))


def with_header(head: Head, wanted: str, value: str) -> Head:
    """The head with another value for a header, which stays where it stood."""
    headers = tuple((name, value if name.lower() == wanted else old) for name, old in head.headers)
    there = any(name.lower() == wanted for name, _ in headers)
    return replace(head, headers=headers if there else (*headers, (wanted, value)))


def _broken(action: Action) -> bool:
    match action:
        case Cut(how):
            return how != "end"
        case Wait(seconds):
            return math.isinf(seconds)
    return isinstance(action, Spill)
