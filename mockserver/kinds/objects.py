"""Kept objects: the operations that create them and look them up, and their access to the objects of a namespace."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.tables import AsList, ByShape, Tag, field
from mockserver.core.call import Call, IdShape, Message, Options, Tool, ToolChoice
from mockserver.core.kept_objects import KeptObject, ObjectView, make_key
from mockserver.core.plan import CarriedOut, Failure, Kept, Plan, blame_rule
from mockserver.core.seed import Seed, WallClock
from mockserver.core.state import ValueStore, VersionedValue
from mockserver.kinds.kind import OperationKind, ThenKey
from mockserver.media.large_data import hash_data

P = ParamSpec("P")
T = TypeVar("T")
LARGE_FILE = 1_000_000  # bytes of a file for which there may be no room

STATUSES = (
    "pending", "queued", "validating", "validating_files", "uploaded", "processed", "running", "in_progress",
    "paused", "finalizing", "completed", "succeeded", "error", "failed", "expired",
    "cancelling", "cancelled", "canceled",
)  # fmt: skip
_Status: Any = Literal[STATUSES]
STATUS = ThenKey(
    key="status",
    value=Annotated[
        Annotated[_Status, Tag("<text>")] | AsList[Annotated[list[_Status], field(min_length=1)]],
        ByShape("a status of a file, batch or job such as failed, or a list of them (for HTTP, write error: 503)"),
    ],
    doc="the statuses of a new object: the first at once, the next after each look-up",
    beside=frozenset(("timing", "faults", "headers")),
    states="statuses",
    example=["in_progress", "failed"],
    compile=lambda stated, read_file: (stated,) if isinstance(stated, str) else tuple(stated),
)


class ObjectKind(Struct, frozen=True):
    """Objects of one kind, by their `name` in the names of operations: `create_file` makes a `file`.

    `usual` has the usual operations on one of them: retrieve, update, delete. `others` are more operations on one,
    and `listed_by` is the one that lists them. `statuses` are those that a rule can state of a new one.
    """

    name: str
    usual: str = ""
    others: tuple[str, ...] = ()
    listed_by: str | None = None
    statuses: tuple[str, ...] = ()
    takes_files: bool = False  # whether the request that makes one is a form with a file

    @property
    def made_by(self) -> str:
        """The operation that makes one."""
        return f"create_{self.name}"

    @property
    def acts(self) -> tuple[str, ...]:
        """The operations on one of them."""
        names = {"retrieve": self.name, "update": f"update_{self.name}", "delete": f"delete_{self.name}"}
        return (*[names[act] for act in self.usual.split()], *self.others)

    @property
    def operations(self) -> tuple[OperationKind, ...]:
        """All operations."""
        names = (*filter(None, [self.listed_by]), *self.acts)
        look_ups = [LookUp(name=name, made_by=self.made_by, takes_text=False) for name in names]
        return (Creation(name=self.made_by, statuses=self.statuses, takes_files=self.takes_files), *look_ups)


class Creation(OperationKind, frozen=True, kw_only=True):
    """An operation that creates an object; `statuses` are those that a rule can state of it."""

    statuses: tuple[str, ...] = ()
    names_model: bool = False
    takes_text: bool = False

    @property
    def then(self) -> ThenKey | None:
        """The key of `then` that states something about the object."""
        return STATUS if self.statuses else None


class LookUp(OperationKind, frozen=True, kw_only=True):
    """An operation that retrieves, changes, deletes or lists what the operation `made_by` has left."""

    made_by: str
    names_model: bool = False


class OnThread(Protocol):
    """Calls a function that may take long, such as one that reads a file, while others are served.

    The engine, a floor above, does it on a thread.
    """

    async def __call__(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T: ...


class ObjectChange(NamedTuple):
    """An object before and after it was changed."""

    before: KeptObject
    after: KeptObject


class HeldName(NamedTuple):
    """A name that a call holds, so that no other call of its namespace does."""

    namespace: str
    name: str


class ObjectEvent(NamedTuple):
    """An event of an object that webhooks report: its kind, such as `batch.completed`, and the object's id."""

    kind: str
    id: str


class Objects(Struct, frozen=True, kw_only=True):
    """The objects of one namespace, while one call is answered.

    `answer` answers another call as if it had come by itself, such as a line of a batch; `done` has those that were.
    `invents`: an unknown object is answered as if it existed. `statuses` are those that a rule, the `source`, gives the
    new object. `mark` tells the ids of what the call makes from those of equal calls before it; if `unique_ids`, no two
    may be the same. `rule_files` are the files beside the rules that rules send.

    `announces`: webhooks report how objects end, which then end by themselves; `events` are those of this call. `locks`
    are the names that all calls hold, and `held` those of this one; None: calls need not hold anything.
    `inventions` are the objects that the call is answered with although nobody made them.
    """

    call: Call
    store: ValueStore[Kept]
    seed: Seed
    clock: WallClock
    on_thread: OnThread
    answer: Callable[[Call], Awaitable[Plan]]
    invents: bool
    announces: bool
    unique_ids: bool
    rule_files: Iterable[bytes]
    statuses: Sequence[str] = ()
    source: str = ""
    mark: str = ""
    locks: set[tuple[str, str]] | None = None
    held: list[HeldName] = []
    done: list[CarriedOut] = []
    inventions: list[KeptObject] = []
    events: list[ObjectEvent] = []

    @property
    def now(self) -> int:
        """The time in seconds."""
        return self.clock.now()

    def draw_id(self, shape: IdShape, purpose: str = "") -> str:
        """Return an id that follows from the call; an equal call gets another one."""
        return self._draw_id(shape, f"object {purpose}", self.mark)

    def derive_id(self, shape: IdShape) -> str:
        """Return an id that equal calls have in common, unless the settings want all ids to be unique."""
        return self._draw_id(shape, "id", self.mark if self.unique_ids else "")

    def _draw_id(self, shape: IdShape, purpose: str, mark: str) -> str:
        draw = self.seed.make_drawer(shape.prefix, shape.alphabet, shape.length, purpose)
        return draw(self.call.fingerprint + mark)

    def refuse_statuses(self) -> None:
        """Raise Failure if a rule gives statuses to the new object: its kind has no statuses."""
        if self.statuses:
            why = f"{self.source}: {self.call.dialect} has no statuses that a rule can state"
            raise blame_rule(why)

    async def find(self, made_by: str, name: str, owner: str = "") -> KeptObject | None:
        """Return an object by its id, also one that is gone; None if it was never made."""
        key = make_key(self.call.dialect, made_by, f"{owner}/{name}" if owner else name)
        found = await self.store.get(self._namespace, key)
        return found.value if found is not None and isinstance(found.value, KeptObject) else None

    def invent(self, made: KeptObject) -> KeptObject:
        """Return an object that nobody made, as one that is not kept."""
        self.inventions.append(made)
        return replace(made, invented=True)

    async def list(self, made_by: str, owner: str = "") -> Sequence[KeptObject]:
        """Return all objects of a kind and owner that are not gone, oldest first."""
        wanted = (self.call.dialect, made_by, owner)
        return [
            each
            for each in await self.store.list_values(self._namespace)
            if isinstance(each, KeptObject) and not each.gone and (each.dialect, each.made_by, each.owner) == wanted
        ]

    async def keep(self, made: KeptObject) -> None:
        """Keep an object as the newest, in place of one with the same id.

        Raises Failure if its file is larger than all that there is room for, unless nothing is kept.
        """
        if (kept := self.store.put(self._namespace, made.key, made, size=made.size)) is not None:
            await kept
        if self.store.most and len(made.data) > LARGE_FILE and await self.store.get(self._namespace, made.key) is None:
            allows = "stored_bytes" if isinstance(made.data, bytes) else self.store.bounds_files
            raise Failure("too_large", f"A file of {len(made.data)} bytes is not kept; {allows} allows more.")

    async def change(self, kept: KeptObject, change: Callable[[KeptObject], KeptObject]) -> ObjectChange:
        """Change an object in one step. One that nobody made stays as it was."""
        while (found := await self.store.get(self._namespace, kept.key)) is not None:
            before, version = found
            assert isinstance(before, KeptObject)  # its key says so
            after = change(before)
            if after is before:
                return ObjectChange(before, after)
            if await self.store.change(self._namespace, kept.key, VersionedValue(after, version), size=after.size):
                return ObjectChange(before, after)
        return ObjectChange(kept, change(kept))

    def find_rule_file(self, digest: str) -> bytes | None:
        """Return the file beside the rules that has this SHA-256; None if no rule sends one."""
        return next((data for data in self.rule_files if hash_data(data) == digest), None)

    def hold(self, name: str) -> bool:
        """Lock a name until the call is answered; return False if another call holds it."""
        key = HeldName(self._namespace, name)
        if self.locks is None:
            return True
        if key in self.locks:
            return False
        self.locks.add(key)
        self.held.append(key)
        return True

    def release(self) -> None:
        """Unlock the names that the call holds."""
        if self.locks is not None:
            self.locks.difference_update(self.held)

    def announce(self, kind: str, about: str) -> None:
        """Have a webhook report an event of an object: its `kind`, such as `batch.completed`, and the object's id."""
        self.events.append(ObjectEvent(kind, about))

    def note(self, done: CarriedOut) -> None:
        """Note a call that was answered for the journal, where it gets a row of its own."""
        self.done.append(done)

    @property
    def _namespace(self) -> str:
        return self.call.http.namespace


async def find_object(
    objects: Objects,
    made_by: str,
    name: str,
    *,
    invented: KeptObject | None = None,
    refusal: Failure | None = None,
) -> KeptObject:
    """Return an object by its id; `invented` if nobody made it, but unknown objects are answered as if they existed.

    Raises the `refusal` if it does not exist; the usual one counts as an answer.
    """
    kept = await objects.find(made_by, name)
    if kept is None and invented is not None and objects.invents:
        return objects.invent(invented)
    if kept is None or kept.gone:
        raise refusal or Failure("not_found", source="unmatched" if kept is None else "stored")
    return kept


class Beginning(Struct, frozen=True):
    """The beginning of a conversation that a call goes on from: messages, and a model and tools, if it names none.

    `options` are those of the call, where what it goes on from states them as well.
    """

    messages: tuple[Message, ...] = ()
    model: str = ""
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice("none")
    options: Options | None = None


class References(Protocol):
    """The kept objects that a chat or a response refers to: a conversation, an agent, files, vector stores.

    Each dialect that has such objects has a class of its own for them.
    """

    async def read(self, call: Call, objects: Objects) -> Beginning:
        """Return the beginning that the call goes on from. Raises Failure if an object does not exist."""

    async def write(self, call: Call, answer: Any, objects: Objects, *, is_generated: bool) -> Any:
        """Return the answer with the additions of the objects, and keep its own additions to them.

        It is an Answer, or the Artifact of a call that is no conversation. A generated answer may be replaced.
        """


Work = Callable[[Call, Objects], Awaitable[ObjectView]]  # what a call does with objects; raises Failure
