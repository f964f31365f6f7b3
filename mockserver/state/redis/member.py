"""The servers that share a state: leases, what changed in which namespace, and questions to all of them.

A member answers from what it has read only while its lease lasts. A change returns when every member with a lease knows
of it, so a request that arrives later is answered by it, whatever member gets it. Knows no rules.
"""

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from redis.asyncio import Connection

from mockserver.core.json import Json
from mockserver.core.seed import boottime, make_token
from mockserver.core.state import StateLostError
from mockserver.state.in_memory import MAX_NAMESPACES
from mockserver.state.redis.client import RedisClient, disconnect, load_script

LEASE = 2.0  # seconds
RENEWAL = 0.5  # seconds
MAX_ANSWER = 16_000_000  # bytes of the answer to a question of another
SLOTS = 1000  # a call's number ends with the slot of its server
_ALL = 1 << 53  # more than any rev

RENEW, CHANGE, BEHIND, LEAVE = map(load_script, ("renew", "change", "behind", "leave"))
_GLOBAL = ("fleet", "slots", "numbers", "rev", "changed", "acks", "reloads", "files", "schema", "epoch")

log = logging.getLogger("mockserver")
Answer = Callable[[Json], Awaitable[bytes]]
Connect = Callable[[], "Connection"]


class MemberReport(NamedTuple):
    """What a server tells the others with each renewal: the number of its last call, and a digest of its files."""

    last_call: int
    files: str


class Member:
    """One of the servers that share a state, which has a slot of its own while its lease lasts."""

    def __init__(
        self, client: RedisClient, connect: Connect, answer: Answer, report: Callable[[], MemberReport]
    ) -> None:
        self._connect = connect
        self.client = client
        self.slot = -1
        self.rev = 0
        self.until = 0.0  # when the lease ends, by `boottime`
        self.changed: dict[str, int] = {}  # by namespace, the rev of the latest change
        self.used: dict[str, float] = {}  # by namespace that has changed, when it was used last, by `boottime`
        self.others: dict[int, int] = {}  # by slot, how many renewals in a row another member has had other files
        self.on_join: Callable[[int], None] = lambda first: None  # `first`: the first number of the slot
        self.reloads: int | None = None  # how often all have read their files again
        self.tasks = set[asyncio.Future[None]]()
        self.answer = answer
        self._report = report
        self._token = make_token()
        self._renewing: asyncio.Task[None] | None = None
        self._channel = f"{client.prefix}:{connect().db}:news"  # channels know no databases
        self._failed = self._renewed_at = -math.inf  # when a renewal failed last, and when one did not
        client.on_start_over.append(self._start_over)

    async def renew(self) -> None:
        """Renew the lease, and learn of all changes. Raises StateLostError; at once, if it was lost a moment ago."""
        if self._renewing is None or self._renewing.done():
            if boottime() < self._failed + RENEWAL / 2:
                raise StateLostError("no answer a moment ago")
            self._renewing = asyncio.create_task(self._renew())
        await asyncio.shield(self._renewing)

    async def _renew(self) -> None:
        before = boottime()
        known = self.rev
        report = self._report()
        used = [self.client.make_key("own", name) for name, at in self.used.items() if at >= self._renewed_at]
        keys = [*map(self._make_key, _GLOBAL), *used]
        words = self.slot, self._token, int(LEASE * 1000), known, report.last_call, report.files, self.client.epoch
        try:
            reply = await self.client.run(RENEW, keys, *words)
        except StateLostError:
            self._failed = boottime()
            raise
        if not reply:
            await self.client.check()
            await self._renew()
            return
        self.slot, number, reloads, rev, changed, slots, digests = reply
        self._note_others(slots, digests, report.files)
        if number >= 0:
            self.on_join(number)
        if rev < known:  # a failover lost the latest changes
            self.client.note_return(emptied=True)
            await self._renew()
            return
        if rev > self.rev:
            pairs = iter(changed)
            self.changed = {name.decode(): int(at) for name, at in zip(pairs, pairs, strict=True)}
            self.used = {name: at for name, at in self.used.items() if name in self.changed}
            self.rev = rev
        if number >= 0 or rev > known:
            self._acknowledge()
        if self.reloads is None:
            self.reloads = reloads
        elif reloads != self.reloads:  # others have reloaded, and nobody could tell this member
            self.reloads = reloads
            if await self.answer({"reload": "compose"}) == b"[]":
                await self.answer({"reload": "swap", "number": reloads})
        self.until = before + LEASE
        self._renewed_at = before

    def _note_others(self, slots: Iterable[bytes], files: Iterable[bytes], own: str) -> None:
        other = {int(slot): digest != own.encode() for slot, digest in zip(slots, files, strict=True)}
        self.others = {slot: it * (self.others.get(slot, 0) + 1) for slot, it in other.items() if slot != self.slot}
        for slot in [slot for slot, times in self.others.items() if times == 2]:  # it is not about to read them again
            log.warning("server %d has other rules or settings, or runs another release: answers may differ", slot)

    def _start_over(self) -> None:
        self.until = 0.0
        self._failed = -math.inf
        self.rev = 0
        self.changed = {}

    def _acknowledge(self) -> None:
        self.client.send("HSET", self._make_key("acks"), self.slot, self.rev)

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[None]:
        """Listen to the others, and keep the lease that the block gets; then leave."""
        ready = asyncio.Event()
        news = _listen(self._connect, self._channel, hear=self._hear, ready=ready)
        tasks = [asyncio.create_task(news), asyncio.create_task(self._keep_lease())]
        with suppress(TimeoutError):
            await asyncio.wait_for(ready.wait(), LEASE)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self.until = 0.0
            with suppress(StateLostError):
                await self.client.run(LEAVE, [self._make_key("fleet"), self._make_key("slots")], self.slot, self._token)

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL)
            await self._renew_if_possible()

    def _hear(self, message: bytes) -> None:
        if message.startswith(b"{"):
            self._start(self._reply(json.loads(message)))
            return
        rev, _, namespace = message.partition(b" ")
        if int(rev) == self.rev + 1 and boottime() < self.until:  # else its slot may be another's
            self.rev = self.changed[namespace.decode()] = int(rev)
            self._acknowledge()
        elif int(rev) > self.rev:
            self._start(self._renew_if_possible())

    async def _renew_if_possible(self) -> None:
        with suppress(StateLostError):
            await self.renew()

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def read(self, namespace: str) -> tuple[int, bytes | None]:
        """Return the rev of a namespace and the JSON of what it has of its own; 0 and None: it has nothing."""
        before = self.changed.get(namespace, 0)
        rev, content = await self.client.send("HMGET", self.client.make_key("own", namespace), "rev", "content")
        found = int(rev) if rev and rev.isdigit() else 0
        if found > self.changed.get(namespace, 0) or (found and self.changed.get(namespace) == before):
            self.changed[namespace] = found  # also if it is smaller, or nobody would ever have read the latest
        elif not found and self.changed.get(namespace) == before:  # it has expired
            del self.changed[namespace]
        return found, content if found else None

    async def change(self, namespace: str, read_at: int, content: Json, forgotten: Iterable[str] = ()) -> int:
        """Change what a namespace has of its own; return the rev, or 0 if it has changed since it was read."""
        counters = [self.client.make_key(name, namespace) for name in "cmn"]
        keys = [self.client.make_key("own", namespace), *counters, self._make_key("rev"), self._make_key("changed")]
        words = namespace, read_at, json.dumps(content), self._channel, self.client.prefix, MAX_NAMESPACES
        rev: int = await self.client.run(CHANGE, keys, *words, *forgotten)
        return rev

    async def wait_until_known(self, rev: int) -> None:
        """Return when every member with a lease knows of a change; one that renews its lease learns of all changes."""
        delay = 0.0005
        end = boottime() + 2 * LEASE
        while behind := await self._find_behind(rev):
            if boottime() > end:
                raise StateLostError(f"server {behind[0]} does not confirm the change")
            await asyncio.sleep(delay)
            delay = min(2 * delay, 0.05)

    async def _find_behind(self, rev: int) -> list[int]:
        found: list[int] = await self.client.run(
            BEHIND, [self._make_key(name) for name in ("fleet", "acks", "rev")], rev
        )
        return found

    async def find_kept(self) -> set[str]:
        """Return the namespaces that anything is kept for."""
        found = set[str]()
        cursor = b"0"
        front = f"{self.client.prefix}:"
        while True:
            cursor, keys = await self.client.send("SCAN", cursor, "MATCH", f"{front}?:*", "COUNT", 1000)
            found.update(key.decode().removeprefix(front)[2:] for key in keys)
            if cursor == b"0":
                return found

    async def count_reload(self) -> int:
        """Count that all read their files again; a member that does not hear of it does so before it goes on."""
        number: int = await self.client.send("INCR", self._make_key("reloads"))
        return number

    async def find_members(self) -> list[int]:
        """Return the slots of all members with a lease."""
        return await self._find_behind(_ALL)

    async def ask(self, question: dict[str, Json], slots: Collection[int]) -> dict[int, bytes]:
        """Return what members answer to a question within two seconds, by slot; nothing if it is too large."""
        waiting = set(slots) - {self.slot}
        answers = dict[int, bytes]()
        delay = 0.0005
        key = f"{self.client.prefix}:answers:{make_token()}"
        text = json.dumps({"reply": key, "slots": sorted(waiting), **question})
        end = boottime() + LEASE
        if waiting:
            await self.client.send("PUBLISH", self._channel, text)
        if self.slot in slots:
            answers[self.slot] = await self.answer(question)
        while waiting:
            for found in await self.client.send("LPOP", key, SLOTS) or ():
                slot, _, answer = found.partition(b" ")
                waiting.discard(int(slot))
                answers[int(slot)] = answer
            if boottime() > end:
                break
            await asyncio.sleep(delay if waiting else 0)
            delay = min(2 * delay, 0.02)
        return answers

    async def _reply(self, question: dict[str, Json]) -> None:
        if self.slot in question["slots"]:
            answer = await self.answer(question)
            fits = len(answer) <= MAX_ANSWER
            self.client.send("RPUSH", question["reply"], b"%d %b" % (self.slot, answer if fits else b""))
            self.client.send("EXPIRE", question["reply"], 30)

    def _make_key(self, name: str) -> str:
        return f"{self.client.prefix}:{name}"


async def _listen(connect: Connect, channel: str, hear: Callable[[bytes], None], ready: asyncio.Event) -> None:
    """Hear the messages of a channel for ever; `ready` is set once there is a connection."""
    while True:
        connection = connect()
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            await connection.send_command("SUBSCRIBE", channel)
            while True:
                kind, _, message = await connection.read_response(timeout=math.inf)
                if kind == b"message":
                    hear(message)
                else:  # it has subscribed
                    ready.set()
        except Exception as error:  # lost, or a bug: changes are learned of by the next renewal
            log.debug("news lost: %s", error)
        finally:
            await disconnect(connection)
        await asyncio.sleep(RENEWAL)
