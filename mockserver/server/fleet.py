"""One of several servers that share a state in Redis: a change at one holds for all, and each shows the calls of all.

After a change, the next request to a namespace reads its rules and its cassette from the state. Any other request only
compares two numbers.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Any

from msgspec import DecodeError, Struct, to_builtins
from msgspec.json import decode
from msgspec.structs import replace

from mockserver import __version__
from mockserver.config.errors import MockserverError
from mockserver.config.settings import Settings, dump_settings
from mockserver.config.source import Document
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import boottime
from mockserver.core.state import StateLostError
from mockserver.engine.engine import Engine
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule
from mockserver.server.compose import Composed, compose
from mockserver.server.live import ConflictError, Live
from mockserver.server.namespaces import ADDED, Namespace
from mockserver.server.recording.player import CassetteChoice
from mockserver.server.sources import compile_rules
from mockserver.state.redis.client import RedisClient
from mockserver.state.redis.member import SLOTS, Connect, Member, MemberReport

MAX_IDLE = 82_800  # seconds: less than the day after which what no server uses expires

# Settings in which servers may differ and yet answer alike.
_MACHINE_SETTINGS = frozenset((
    "host", "port", "tls_cert", "tls_key", "workers", "state", "cassettes",
    "cors", "allowed_hosts", "control_token", "log",
))  # fmt: skip

log = logging.getLogger("mockserver")


class FleetAnswers(Struct, frozen=True):
    """The answers of servers to a question, by their slots.

    `left_out` has the slots of those without one: `missing` did not answer, and the answer of `too_large` was not sent.
    """

    answers: Mapping[int, Any]
    left_out: Mapping[str, list[int]]


class _Version(Struct):
    """The state of a namespace that this server has read last."""

    rev: int = 0  # the revision that was read; below 0: it must be read again
    batches: Mapping[str, int] = {}  # the revision at which each rule was added
    cleared: int = 0  # the revision of its latest reset


class _OwnContent(Struct):
    """What a namespace has of its own, as JSON in the shared state."""

    rules: list[tuple[int, dict[str, Any]]] = []  # the revision at which each was added, and the rule
    choice: CassetteChoice | None = None
    timed: bool = True
    named: int = 0
    cleared: int = 0


class RedisFleet:
    """The servers that share a state in Redis, as this one knows them.

    `answer_request` answers a control request that another server passes on to this one.
    """

    def __init__(
        self,
        live: Live,
        client: RedisClient,
        *,
        connect: Connect,
        answer_request: Callable[[Json], Awaitable[bytes]],
    ) -> None:
        self.live = live
        self.client = client
        self._answer_request = answer_request
        self.member = Member(client, connect, self._answer, report=self._report)
        self.member.on_join = lambda first: live.journal.number_from(first * SLOTS + self.slot, SLOTS)
        self._versions: dict[str, _Version] = {}  # of namespaces, as they were read
        self._reading = asyncio.Lock()
        self._composed: Composed | None = None  # what a reload is about to swap in
        self._digest = ""
        self._digested: Engine | None = None  # the engine that the digest was made of
        client.on_start_over.append(self._start_over)

    def _report(self) -> MemberReport:
        return MemberReport(self.live.journal.last // SLOTS, files=self.digest)

    @property
    def slot(self) -> int:
        return self.member.slot

    @property
    def lost(self) -> bool:
        return self.client.lost

    @property
    def warnings(self) -> Sequence[str]:
        return self.client.warnings

    async def close(self) -> None:
        """Leave the state."""
        await self.client.close()

    @asynccontextmanager
    async def take_part(self) -> AsyncIterator[None]:
        """Be one of the servers while the block runs. Raises StateLostError."""
        async with self.member.listen():
            await self.member.renew()
            yield

    def is_current(self, namespace: str) -> bool:
        """Return whether nothing has changed in a namespace since it was read."""
        member = self.member
        now = boottime()
        changed = member.changed.get(namespace, 0)
        if changed:
            if member.used.get(namespace, now) < now - MAX_IDLE:  # it may have expired
                self._get_version(namespace).rev = -1
            member.used[namespace] = now
        return now < member.until and changed == self._get_rev(namespace)

    def _get_version(self, namespace: str) -> "_Version":
        return self._versions.setdefault(namespace, _Version())

    def _get_rev(self, namespace: str) -> int:
        known = self._versions.get(namespace)
        return 0 if known is None else known.rev

    @property
    def digest(self) -> str:
        """A text that differs where servers could answer differently (see `make_digest`)."""
        engine = self.live.engine
        if self._digested is not engine:
            self._digest = make_digest(self.live.settings, engine)
            self._digested = engine
        return self._digest

    async def catch_up(self, namespace: str) -> None:
        """Read what a namespace has of its own, if it has changed.

        Raises StateLostError if it has something of its own and the state cannot tell whether that still holds, and
        Failure if this release cannot read it.
        """
        if boottime() >= self.member.until:  # others may have changed something
            try:
                await self.member.renew()
            except StateLostError:
                if namespace in self.member.changed or namespace in self._versions:
                    raise
                return
        async with self._reading:
            while self.member.changed.get(namespace, 0) != self._get_rev(namespace):
                rev, text = await self.member.read(namespace)
                try:
                    content = _OwnContent() if text is None else decode(text, type=_OwnContent)
                except DecodeError as error:
                    raise _report_unreadable(f"what {namespace!a} has of its own", error) from error
                version = self._get_version(namespace)
                version.rev = -rev  # below 0 until it is swapped in
                await self._swap_in(namespace, content)
                version.rev = rev
                if not rev:
                    self.forget(namespace)

    async def _swap_in(self, namespace: str, content: _OwnContent) -> None:
        """Have a namespace go on with this content. Raises Failure if this release cannot read it."""
        live = self.live
        space = live.namespaces.get(namespace)
        rules: tuple[Rule, ...] = ()
        if content.rules:
            document = Document.from_data({"rules": [spec for _, spec in content.rules]}, ADDED)
            try:
                rules = await on_thread(compile_rules, (document,), live.settings)
            except MockserverError as error:
                raise _report_unreadable(f"the rules that were added to {namespace!a}", error.mistakes[0]) from error
        version = self._get_version(namespace)
        batches = {rule.name: rev for rule, (rev, _) in zip(rules, content.rules, strict=True)}
        if content.cleared != version.cleared:
            version.cleared = content.cleared
            live.journal.forget_namespace(namespace)
        for rule in space.rules:
            if batches.get(rule.name) != version.batches.get(rule.name):
                live.journal.forget_hits(namespace, rule.source)
        version.batches = batches
        if rules or content.choice or content.named or not content.timed:
            own = Namespace(rules, content.timed, named=content.named, choice=content.choice)
            live.namespaces.put(namespace, own)
        else:
            live.namespaces.drop(namespace)

    @asynccontextmanager
    async def change(self, namespace: str, *, cleared: bool = False) -> AsyncIterator[Namespace]:
        """Yield a copy of a namespace to change; all servers know it when the block has ended. Raises ConflictError."""
        if boottime() >= self.member.until:
            raise StateLostError("the lease of this server has ended")
        version = self._versions.get(namespace, _Version())
        before = self.live.namespaces.get(namespace)
        read_at = abs(version.rev)
        if not (self.is_current(namespace) or (cleared and read_at == self.member.changed.get(namespace))):
            raise ConflictError  # what the change goes by has changed since
        space = replace(before, forgotten=())
        yield space
        old = set(map(id, before.rules))
        rules = [[version.batches[rule.name] if id(rule) in old else read_at + 1, rule.spec] for rule in space.rules]
        choice = None if space.choice is None else {"name": space.choice.name, "record": "none"}
        at = read_at + 1 if cleared else version.cleared
        content: dict[str, Json] = {"timed": space.timed, "named": space.named, "cleared": at, "choice": choice}
        content["rules"] = rules
        rev = await self.member.change(namespace, read_at, content=content, forgotten=space.forgotten)
        if not rev:
            self._get_version(namespace).rev = -1  # what was read may have expired
            raise ConflictError
        await self.member.wait_until_known(rev)

    async def reset(self, namespace: str) -> None:
        """Forget all of a namespace at all servers. Raises ConflictError."""
        with suppress(Failure):  # what cannot be read can be reset
            await self.catch_up(namespace)
        await self.live.forget_counted(namespace)
        async with self.change(namespace, cleared=True) as space:
            space.rules = ()
            space.choice = None
            space.timed = True
            space.named = 0

    def forget(self, namespace: str) -> None:
        """Forget what was read of a namespace; it is read again when it is used."""
        self._versions.pop(namespace, None)

    def _start_over(self) -> None:
        for version in self._versions.values():
            version.rev = -1

    def find_owner(self, number: int) -> int:
        """Return the slot of the server that has the call of this number."""
        return number % SLOTS

    async def find_time(self, number: int) -> float | None:
        """Return when a call arrived at its server; None if that has no such call. Raises StateLostError."""
        owner = self.find_owner(number)
        found = await self.ask({"time_of": number}, [owner])
        return found.answers.get(owner)

    async def list_namespaces(self) -> set[str]:
        """Return the namespaces that a server or the state knows. Raises StateLostError."""
        found = await self.ask({"namespaces": True})
        return {*self.member.changed, *await self.member.find_kept()}.union(*found.answers.values())

    async def ask(self, question: dict[str, Json], slots: Iterable[int] | None = None) -> FleetAnswers:
        """Ask servers a question, by default all. Raises StateLostError."""
        members = {self.slot, *await self.member.find_members()}  # this one, too, if its lease has just ended
        members = members if slots is None else members & set(slots)
        found = await self.member.ask(question, members)
        answers = {slot: json.loads(text) for slot, text in sorted(found.items()) if text}
        left_out = {"missing": sorted(members - set(found)), "too_large": sorted(set(found) - set(answers))}
        return FleetAnswers(answers, {name: slots for name, slots in left_out.items() if slots})

    async def ask_self(self, question: dict[str, Json]) -> FleetAnswers:
        """Ask this server alone, while the state is lost."""
        answers = {self.slot: json.loads(await self._answer(question))}
        return FleetAnswers(answers, {"missing": sorted(self.member.others)} if self.member.others else {})

    async def _answer(self, question: Mapping[str, Any]) -> bytes:
        """Return this server's answer, as JSON, to a question of another or of itself."""
        match question:
            case {"namespaces": _}:
                return json.dumps(self.live.namespaces.list_names()).encode()
            case {"time_of": number}:
                row = self.live.journal.find(number)
                return json.dumps(None if row is None else row.at).encode()
            case {"reload": "compose"}:
                return json.dumps(await self._compose()).encode()
            case {"reload": "swap", "number": number}:
                return json.dumps(self._swap(number)).encode()
        return await self._answer_request(question["request"])

    async def _compose(self) -> list[str]:
        """Read the files again, for `_swap` to go on with; return the mistakes in them."""
        live = self.live
        try:
            self._composed = await on_thread(compose, live.sources, live.counters, live)
        except MockserverError as error:
            return [str(mistake) for mistake in error.mistakes]
        return []

    def _swap(self, number: int) -> dict[str, Json]:
        """Go on with what `_compose` has read, and return what is shown of that.

        `number` is the number of this reload, which all servers count together.
        """
        if self._composed is None:  # it has just taken the slot of another
            return {}
        self.member.reloads = number
        waiting = self.live.swap(*self._composed)
        return {"rules": len(self.live.engine.rules), "at_next_start": list(waiting)}


def _report_unreadable(what: str, error: object) -> Failure:
    """Log that something in the shared state cannot be read; return the failure of the request that needs it."""
    words = f"{what} cannot be read here: {error}"
    log.error("%s", words)
    return Failure("server_error", f"{words}.")


def make_digest(settings: Settings, engine: Engine) -> str:
    """Return a text that differs where rules, MCP servers, the release, or settings but those of a machine differ."""
    dumped = dump_settings(settings)
    stated = {name: value for name, value in dumped.items() if name not in _MACHINE_SETTINGS}
    servers = to_builtins(engine.servers, order="deterministic")
    content = [__version__, stated, [rule.spec for rule in engine.rules], servers]
    return sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]
