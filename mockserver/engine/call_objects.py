"""The objects that a call works with: kept in a namespace, named by the seed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from msgspec import Struct

from mockserver.core.call import Call, IdShape
from mockserver.core.kept_objects import KeptObject, make_key
from mockserver.core.plan import CarriedOut, Failure, Kept, Plan, WebhookEvent
from mockserver.core.seed import Seed
from mockserver.core.state import ValueStore
from mockserver.engine.answer import Author
from mockserver.engine.offload import on_thread
from mockserver.media.large_data import hash_data
from mockserver.rules.load import Rule

P = ParamSpec("P")
T = TypeVar("T")
LARGE_FILE = 1_000_000  # bytes of a file for which there may be no room


class CallObjects(Struct, frozen=True):
    """The `Objects` of one call. `answers` answers another call, `done` has those.

    `mark` tells the ids of what the call makes from those of equal calls before it; if `unique_ids`, no call may have
    the same. `source` is the rule that states `statuses`.
    `rules` are those that answer calls like it. `locks` are the namespaces and names of what calls hold, and `held`
    those of this one; None: nothing is held.
    """

    call: Call
    store: ValueStore[Kept]
    author: Author
    answers: Callable[[Call], Awaitable[Plan]]
    done: list[CarriedOut]
    events: list[WebhookEvent]
    held: list[tuple[str, str]]
    locks: set[tuple[str, str]] | None = None
    invents: bool = True
    announces: bool = False
    statuses: Sequence[str] = ()
    source: str = ""
    mark: str = ""
    unique_ids: bool = False
    rules: Sequence[Rule] = ()

    @property
    def now(self) -> int:
        return self.author.clock.now()

    @property
    def seed(self) -> Seed:
        return self.author.seed

    def draw_id(self, shape: IdShape, purpose: str = "") -> str:
        return self.author.drawer(shape, f"object {purpose}")(self.call.fingerprint + self.mark)

    def derive_id(self, shape: IdShape) -> str:
        return self.author.drawer(shape, "id")(self.call.fingerprint + (self.mark if self.unique_ids else ""))

    def refuse_statuses(self) -> None:
        if self.statuses:
            why = f"{self.source}: {self.call.dialect} has no statuses that a rule can state"
            raise Failure("server_error", why, status=500)

    async def find(self, made_by: str, name: str, owner: str = "") -> KeptObject | None:
        key = make_key(self.call.dialect, made_by, f"{owner}/{name}" if owner else name)
        found = await self.store.get(self._namespace, key)
        return found[0] if found is not None and isinstance(found[0], KeptObject) else None

    async def list(self, made_by: str, owner: str = "") -> Sequence[KeptObject]:
        wanted = (self.call.dialect, made_by, owner)
        return [
            each
            for each in await self.store.values(self._namespace)
            if isinstance(each, KeptObject) and not each.gone and (each.dialect, each.made_by, each.owner) == wanted
        ]

    async def keep(self, made: KeptObject) -> None:
        """Keep an object. Raises Failure if its file is larger than all that there is room for, unless none is kept."""
        if (kept := self.store.put(self._namespace, made.key, made, size=made.size)) is not None:
            await kept
        if self.store.most and len(made.data) > LARGE_FILE and await self.store.get(self._namespace, made.key) is None:
            allows = "stored_bytes" if isinstance(made.data, bytes) else self.store.bounds_files
            raise Failure("too_large", f"A file of {len(made.data)} bytes is not kept; {allows} allows more.")

    async def change(
        self, kept: KeptObject, change: Callable[[KeptObject], KeptObject]
    ) -> tuple[KeptObject, KeptObject]:
        while (found := await self.store.get(self._namespace, kept.key)) is not None:
            before, version = found
            assert isinstance(before, KeptObject)  # noqa: S101  # by its key
            after = change(before)
            if after is before:
                return before, after
            if await self.store.change(self._namespace, kept.key, (after, version), size=after.size):
                return before, after
        return kept, change(kept)

    async def on_thread(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return await on_thread(function, *args, **named)

    def find_rule_file(self, digest: str) -> bytes | None:
        files = (data for rule in self.rules for data in rule.then.files)
        return next((data for data in files if hash_data(data) == digest), None)

    async def answer(self, call: Call) -> Plan:
        return await self.answers(call)

    def note(self, done: CarriedOut) -> None:
        self.done.append(done)

    def hold(self, name: str) -> bool:
        key = (self._namespace, name)
        if self.locks is None:
            return True
        if key in self.locks:
            return False
        self.locks.add(key)
        self.held.append(key)
        return True

    def release(self) -> None:
        """Give back what the call holds."""
        if self.locks is not None:
            self.locks.difference_update(self.held)

    def announce(self, kind: str, about: str) -> None:
        self.events.append(self.author.make_event(self.call.dialect, kind, about, self.now))

    @property
    def _namespace(self) -> str:
        return self.call.http.namespace
