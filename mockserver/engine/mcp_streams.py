"""Open streams to clients of MCP servers, and what these clients have said: log levels, subscriptions, replies.

It lives in one process: of several workers, each knows the clients that reached it.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from weakref import ref

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.mcp_server import McpEventId, McpSent
from mockserver.core.plan import Outcome

LOOK = 0.02  # seconds between looks at what has happened
_MAX_COUNT = 1000  # clients that are remembered, and events and subscriptions of each
_MAX_HELD = 64_000_000  # bytes of requests whose answers clients may take up again, which they do with the latest
_ANSWER = 1_000  # bytes of a small answer, about
LISTS = ("tools", "resources", "prompts")


class McpClient(Struct, frozen=True):
    """A client of an MCP server: one of its sessions, or all clients without one."""

    namespace: str
    server: str
    session: str | None = None

    def is_of(self, namespace: str, server: str) -> bool:
        """Return whether this is a client of this server of a namespace."""
        return (self.namespace, self.server) == (namespace, server)


class McpEvent(Struct, frozen=True):
    """What clients may be told: that a list has changed, or the content of the resource of a `uri`."""

    kind: str  # of LISTS
    uri: str | None = None
    number: int = 0  # among those of a client, from 1

    @property
    def message(self) -> dict[str, Json]:
        """The notification that tells of it."""
        if self.uri is None:
            return {"jsonrpc": "2.0", "method": f"notifications/{self.kind}/list_changed"}
        return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": self.uri}}


class ResumableMessages:
    """The messages of a stream. A client that takes it up again gets those that it has missed, and the rest."""

    def __init__(self, messages: Iterator[object]) -> None:
        self._messages = messages
        self.sent = list[object]()

    def follow(self, after: McpEventId) -> Iterator[McpSent | float]:
        """Yield the messages after an event, and the seconds to wait for others."""
        at = after.number
        while True:
            if at == len(self.sent):
                message = next(self._messages, None)
                if message is None:
                    return
                if isinstance(message, float):
                    yield message
                    continue
                self.sent.append(message)
            at += 1
            yield McpSent(McpEventId(after.stream, at), self.sent[at - 1])


class ResumableAnswer(Struct, frozen=True, eq=False):
    """A call whose answer is a stream that its client may take up again."""

    call: Call
    outcome: Outcome | ResumableMessages

    @property
    def size(self) -> int:
        """The bytes that it takes, about: an answer may repeat its request."""
        return _ANSWER + 2 * len(self.call.http.body)


class _Memory:
    """What is known of one client."""

    def __init__(self) -> None:
        self.level: str | None = None
        self.subscribed = frozenset[str]()
        self.events = deque[McpEvent](maxlen=_MAX_COUNT)
        self.told = 0
        self.unread: int | None = None  # the last event before those for the first stream that it opens
        self.answered = 0

    def concerns(self, event: McpEvent) -> bool:
        """Return whether the client gets an event: one about a resource, only if it has subscribed to it."""
        return event.uri is None or event.uri in self.subscribed

    def add(self, event: McpEvent) -> McpEvent:
        """Keep an event; return it with its number."""
        self.told += 1
        self.events.append(replace(event, number=self.told))
        return self.events[-1]

    def take_unread(self, after: int | None) -> list[McpEvent]:
        """Return the events that a stream begins with: those after one, or those that no stream has sent."""
        start = self.unread if after is None else after
        self.unread = None
        return [] if start is None else [event for event in self.events if event.number > start]


class _Channel:
    """A stream that a client has opened, until nobody reads it any more."""

    def __init__(self, client: McpClient, wants: Callable[[McpEvent], bool], *, has_wishes: bool) -> None:
        self.client = client
        self.wants = wants
        self.has_wishes = has_wishes
        self.waiting: deque[McpEvent] = deque(maxlen=_MAX_COUNT)
        self.is_over = False


class PendingReply:
    """A request of the server that the client has not answered yet."""

    def __init__(self) -> None:
        self.reply: Mapping[str, Json] | None = None


class McpStreams:
    """The streams that are open to clients, and what is known of these. Events may be published by any thread."""

    def __init__(self) -> None:
        self._channels: list[ref[_Channel]] = []
        self._pending: dict[tuple[McpClient, str], ref[PendingReply]] = {}
        self._memories: OrderedDict[McpClient, _Memory] = OrderedDict()
        self._answers: OrderedDict[tuple[McpClient, str], ResumableAnswer] = OrderedDict()  # by the names of streams
        self._held = 0  # bytes of these
        self._lock = Lock()

    def greet(self, client: McpClient) -> None:
        """Keep events for a client that has just come, until it opens its stream."""
        with self._lock:
            memory = self._remember(client)
            memory.unread = memory.told

    def open(
        self, client: McpClient, wants: Callable[[McpEvent], bool] | None = None, *, after: int | None = None
    ) -> Iterator[McpEvent | float]:
        """Yield the events for the client since it came, and the seconds to wait until it looks again.

        A client that takes a stream up again gets those `after` the number of an event.
        """
        with self._lock:
            memory = self._remember(client)
            channel = _Channel(client, wants or memory.concerns, has_wishes=wants is not None)
            if wants is None:
                channel.waiting.extend(memory.take_unread(after))
            self._channels = [each for each in self._channels if each() is not None]
            self._channels.append(ref(channel))
        return _follow(channel)

    def publish(self, namespace: str, server: str, event: McpEvent) -> None:
        """Put an event into the streams of all clients of a server that want it."""
        with self._lock:
            numbered = {
                client: memory.add(event)
                for client, memory in self._memories.items()
                if client.is_of(namespace, server) and memory.concerns(event)
            }
            told = set[str]()  # of sessions that have opened several streams, only the last one tells them anything
            for each in reversed(self._channels):
                channel = each()
                if channel is None or not channel.client.is_of(namespace, server) or not channel.wants(event):
                    continue
                session = None if channel.has_wishes else channel.client.session
                if session not in told:
                    channel.waiting.append(numbered.get(channel.client, event))
                    told |= {session} if session is not None else set()

    def name_answer(self, client: McpClient) -> str:
        """Return the name of a new stream with an answer."""
        with self._lock:
            memory = self._remember(client)
            memory.answered += 1
            return str(memory.answered)

    def keep(self, client: McpClient, stream: str, answer: ResumableAnswer) -> None:
        """Keep an answer that the client may take up again, until those of all clients take too many bytes."""
        with self._lock:
            self._drop(client, stream)
            self._answers[client, stream] = answer
            self._held += answer.size
            while self._held > _MAX_HELD:
                self._drop(*next(iter(self._answers)))

    def find_answer(self, client: McpClient, stream: str) -> ResumableAnswer | None:
        """Return the answer that the stream of a name was, if it is kept."""
        with self._lock:
            return self._answers.get((client, stream))

    def close(self, namespace: str, session: str | None = None) -> None:
        """End the streams of a namespace, or of one session there; forget what is known of these clients."""
        with self._lock:
            channels = [channel for each in self._channels if (channel := each()) is not None]
            for channel in channels:
                if channel.client.namespace == namespace and session in (None, channel.client.session):
                    channel.is_over = True
            for client in tuple(self._memories):
                if client.namespace == namespace and session in (None, client.session):
                    del self._memories[client]
            for client, stream in tuple(self._answers):
                if client.namespace == namespace and session in (None, client.session):
                    self._drop(client, stream)

    def end(self) -> None:
        """End all streams."""
        with self._lock:
            channels = [channel for each in self._channels if (channel := each()) is not None]
        for channel in channels:
            channel.is_over = True

    def await_reply(self, client: McpClient, number: int) -> PendingReply:
        """Return where the reply to a request of the server will be."""
        pending = PendingReply()
        self._pending = {key: each for key, each in self._pending.items() if each() is not None}
        self._pending[client, str(number)] = ref(pending)
        return pending

    def take_reply(self, client: McpClient, reply: Mapping[str, Json]) -> None:
        """Note what a client answers to a request of the server; one that nobody waits for is ignored."""
        found = self._pending.pop((client, str(reply.get("id"))), None)
        pending = None if found is None else found()
        if pending is not None:
            pending.reply = reply

    def set_level(self, client: McpClient, level: str) -> None:
        """Note from which level on a client wants log lines."""
        with self._lock:
            self._remember(client).level = level

    def get_level(self, client: McpClient) -> str | None:
        """Return from which level on a client wants log lines; None if it has not said."""
        with self._lock:
            return self._remember(client).level

    def subscribe(self, client: McpClient, uri: str) -> None:
        """Have a client told when a resource changes."""
        with self._lock:
            memory = self._remember(client)
            if len(memory.subscribed) < _MAX_COUNT:
                memory.subscribed |= {uri}

    def unsubscribe(self, client: McpClient, uri: str) -> None:
        """Tell a client of changes of a resource no longer."""
        with self._lock:
            self._remember(client).subscribed -= {uri}

    def _drop(self, client: McpClient, stream: str) -> None:
        answer = self._answers.pop((client, stream), None)
        if answer is not None:
            self._held -= answer.size

    def _remember(self, client: McpClient) -> _Memory:
        """Return what is known of a client; if there are too many, the one not heard of for longest is forgotten."""
        memory = self._memories.setdefault(client, _Memory())
        self._memories.move_to_end(client)
        if len(self._memories) > _MAX_COUNT:
            self._memories.popitem(last=False)
        return memory


def _follow(channel: _Channel) -> Iterator[McpEvent | float]:
    while True:
        while channel.waiting:
            yield channel.waiting.popleft()
        if channel.is_over:
            return
        yield LOOK
