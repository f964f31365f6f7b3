"""Objects that are kept: which operations make them, and what others do with them."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Stored
from mockserver.kinds.kind import OperationKind

BARE_SIZE = 3500  # bytes of an object without any text


class Found(Struct, frozen=True):
    """What a look-up finds, and what is kept from now on; None: what was kept."""

    seen: Stored
    kept: Stored | None = None


Act = Callable[[Call, Stored], Found | Failure]


class ObjectKind(Struct, frozen=True, kw_only=True):
    """Objects of one kind, which the operation `made_by` makes.

    `acts` are the operations on one object, each with what it does; `listed_by` is the operation that lists them, in
    the order in which they were made. Where answers are generated, an unknown object is made up, unless it `must_exist`
    or a look-up in `ends` asks to end it: then it is still at work.
    """

    made_by: str
    acts: Mapping[str, Act]
    listed_by: str | None = None
    must_exist: bool = False
    ends: frozenset[str] = frozenset()

    @property
    def look_ups(self) -> "tuple[LookUp, ...]":
        """Return its operations but the one that makes them."""
        lists = () if self.listed_by is None else (LookUp(name=self.listed_by, objects=self),)
        return (*lists, *[LookUp(name=name, objects=self) for name in self.acts])


class LookUp(OperationKind, frozen=True, kw_only=True):
    """An operation that looks kept objects up, changes or deletes them."""

    objects: ObjectKind
    names_model: bool = False

    @property
    def is_list(self) -> bool:
        return self.name == self.objects.listed_by


class Creation(OperationKind, frozen=True, kw_only=True):
    """An operation that makes an object of its request alone. If that `holds_calls`, they are answered, too."""

    holds_calls: bool = False
    names_model: bool = False


def show(call: Call, stored: Stored) -> Found:
    """Show an object as it is."""
    if stored.polls:
        stored = replace(stored, answer=replace(stored.answer, phase="in_progress"))
    return Found(stored)


def delete(call: Call, stored: Stored) -> Found:
    """Delete an object: who looks it up again learns that it is gone."""
    made = replace(stored.call, raw={}, messages=())
    gone = Stored(made, replace(stored.answer, choices=()), gone=True, size=BARE_SIZE)
    return Found(gone, gone)


def cancel(call: Call, stored: Stored) -> Found:
    """End an object that is still at work."""
    if not stored.polls:
        return Found(stored, stored)
    stored = replace(stored, answer=replace(stored.answer, phase="cancelled"))
    return Found(stored, replace(stored, polls=0))  # it is seen as still in progress


def update(call: Call, stored: Stored) -> Found:
    """Change the fields that the request states."""
    changed = replace(stored, call=replace(stored.call, raw={**stored.call.raw, **call.raw}))
    return Found(show(call, changed).seen, changed)
