"""Kept objects: which operations create and look them up, and what these can do with the objects of a namespace."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from mockserver.config.tables import AsList, ByShape, Tag, field
from mockserver.core.call import Call, IdShape, Message
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, CarriedOut, Failure, Plan
from mockserver.core.seed import Seed
from mockserver.kinds.kind import OperationKind, ThenKey

P = ParamSpec("P")
T = TypeVar("T")

STATUSES = (
    *("pending", "queued", "validating", "validating_files", "uploaded", "processed", "running", "in_progress"),
    *("paused", "finalizing", "completed", "succeeded", "error", "failed", "expired"),
    *("cancelling", "cancelled", "canceled"),
)
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

    `usual` are what else can be done with one of them: retrieve, update, delete. `others` are more operations on one,
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
        """Return the operation that makes one."""
        return f"create_{self.name}"

    @property
    def acts(self) -> tuple[str, ...]:
        """Return the operations on one of them."""
        names = {"retrieve": self.name, "update": f"update_{self.name}", "delete": f"delete_{self.name}"}
        return (*[names[act] for act in self.usual.split()], *self.others)

    @property
    def operations(self) -> tuple[OperationKind, ...]:
        """Return all operations."""
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
        """Return the key of `then` that says something of the object."""
        return STATUS if self.statuses else None


class LookUp(OperationKind, frozen=True, kw_only=True):
    """An operation that retrieves, changes, deletes or lists what the operation `made_by` has left."""

    made_by: str
    names_model: bool = False


class Objects(Protocol):
    """The objects of one namespace, while one call is answered.

    `invents`: an unknown object is answered as if it existed. `announces`: webhooks tell how objects end, which then do
    so by themselves. `statuses` are those that a rule gives the new object.
    """

    @property
    def invents(self) -> bool: ...

    @property
    def announces(self) -> bool: ...

    @property
    def statuses(self) -> Sequence[str]: ...

    @property
    def now(self) -> int:
        """Return the time in seconds."""

    @property
    def seed(self) -> Seed:
        """Return what generated values follow from."""

    def draw_id(self, shape: IdShape, purpose: str = "") -> str:
        """Return an id that follows from the call; the same call gets another one the next time."""

    def derive_id(self, shape: IdShape) -> str:
        """Return an id that equal calls have in common, unless the settings want all ids to be unique."""

    def refuse_statuses(self) -> None:
        """Raise Failure if a rule gives statuses to the new object, which has none."""

    async def find(self, made_by: str, name: str, owner: str = "") -> KeptObject | None:
        """Return an object by its id, also one that is gone; None if it was never made."""

    async def list(self, made_by: str, owner: str = "") -> Sequence[KeptObject]:
        """Return all objects of a kind and owner that are not gone, oldest first."""

    async def keep(self, made: KeptObject) -> None:
        """Keep an object as the newest, in place of one with the same id."""

    async def change(
        self, kept: KeptObject, change: Callable[[KeptObject], KeptObject]
    ) -> tuple[KeptObject, KeptObject]:
        """Change an object in one step; return how it was and how it is now. One that nobody made stays as it was."""

    async def on_thread(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call a function that may take long, such as one that reads a file, while others are served."""

    def find_rule_file(self, digest: str) -> bytes | None:
        """Return the file beside the rules that has this SHA-256; None if no rule sends one."""

    async def answer(self, call: Call) -> Plan:
        """Answer a call as if it had come by itself, such as a line of a batch."""

    def hold(self, name: str) -> bool:
        """Keep other calls from something until the call is answered; return whether no other has kept this one."""

    def announce(self, kind: str, about: str) -> None:
        """Have a webhook tell that something has happened to an object: `batch.completed`, and its id."""

    def note(self, done: CarriedOut) -> None:
        """Note such a call for the journal, where it gets a row of its own."""


async def find_object(
    objects: Objects,
    made_by: str,
    name: str,
    *,
    invented: KeptObject | None = None,
    refusal: Failure | None = None,
) -> KeptObject:
    """Return an object by its id; where unknown ones exist, one that nobody made is as `invented`.

    Raises the `refusal` if there is none; the usual one counts as an answer.
    """
    kept = await objects.find(made_by, name)
    if kept is None and invented is not None and objects.invents:
        return invented
    if kept is None or kept.gone:
        raise refusal or Failure("not_found", source="unmatched" if kept is None else "stored")
    return kept


class References(Protocol):
    """The kept objects that a chat or a response refers to: a conversation, files, vector stores."""

    async def read(self, call: Call, objects: Objects) -> Sequence[Message]:
        """Return the messages that stand before those of the call. Raises Failure if an object does not exist."""

    async def write(self, call: Call, answer: Answer, objects: Objects, *, is_generated: bool) -> Answer:
        """Return the answer with what the objects have to say in it, and keep what it adds to them.

        One that is generated may say something else instead.
        """


Work = Callable[[Call, Objects], Awaitable[ObjectView]]  # what a call does with objects; raises Failure
