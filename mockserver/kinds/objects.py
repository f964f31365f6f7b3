"""Stored objects: which operations create them, and what other operations do with them."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Stored
from mockserver.kinds.kind import OperationKind

BARE_SIZE = 3500  # bytes of an object without any text


class Found(Struct, frozen=True):
    """The result of a look-up, and the object to store from now on; None leaves it as it is."""

    seen: Stored
    kept: Stored | None = None


Act = Callable[[Call, Stored], Found | Failure]


class ObjectKind(Struct, frozen=True, kw_only=True):
    """Objects of one kind, which the operation `made_by` creates.

    `acts` are the operations on one object, each with its effect; `listed_by` is the operation that lists objects in
    the order of their creation. If answers are generated, an unknown object is invented, unless it `must_exist`, or a
    look-up in `ends` asks to end it: then it is still in progress.
    """

    made_by: str
    acts: Mapping[str, Act]
    listed_by: str | None = None
    must_exist: bool = False
    ends: frozenset[str] = frozenset()

    @property
    def look_ups(self) -> "tuple[LookUp, ...]":
        """Return its operations except the one that creates objects."""
        lists = () if self.listed_by is None else (LookUp(name=self.listed_by, objects=self),)
        return (*lists, *[LookUp(name=name, objects=self) for name in self.acts])


class LookUp(OperationKind, frozen=True, kw_only=True):
    """An operation that retrieves, changes or deletes stored objects."""

    objects: ObjectKind
    names_model: bool = False

    @property
    def is_list(self) -> bool:
        return self.name == self.objects.listed_by


class Creation(OperationKind, frozen=True, kw_only=True):
    """An operation that creates an object from its request alone. If it `holds_calls`, these are answered, too."""

    holds_calls: bool = False
    names_model: bool = False


def show(call: Call, stored: Stored) -> Found:
    """Show an object unchanged."""
    if stored.polls:
        stored = replace(stored, answer=replace(stored.answer, phase="in_progress"))
    return Found(stored)


def delete(call: Call, stored: Stored) -> Found:
    """Delete an object; later look-ups learn that it is gone."""
    made = replace(stored.call, raw={}, messages=())
    gone = Stored(made, replace(stored.answer, choices=()), gone=True, size=BARE_SIZE)
    return Found(gone, gone)


def cancel(call: Call, stored: Stored) -> Found:
    """End an object that is still in progress."""
    if not stored.polls:
        return Found(stored, stored)
    stored = replace(stored, answer=replace(stored.answer, phase="cancelled"))
    return Found(stored, replace(stored, polls=0))  # it is seen as still in progress


def update(call: Call, stored: Stored) -> Found:
    """Change the fields that the request states."""
    changed = replace(stored, call=replace(stored.call, raw={**stored.call.raw, **call.raw}))
    return Found(show(call, changed).seen, changed)
