"""Open streams to clients of MCP servers, and what these clients have said: log levels, subscriptions, replies.

It lives in one process: of several workers, each knows the clients that reached it.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import TypeVar
from weakref import ref

from msgspec import Struct

from mockserver.core.json import Json

Kept = TypeVar("Kept")
LOOK = 0.02  # seconds between looks at what has happened
_MOST = 1000  # clients that are remembered, and events that one of them has not read
LISTS = ("tools", "resources", "prompts")


class McpClient(Struct, frozen=True):
    """Who is spoken to: a session of a server, or all its clients that have none."""

    namespace: str
    server: str
    session: str | None = None

    def is_of(self, namespace: str, server: str) -> bool:
        return (self.namespace, self.server) == (namespace, server)


class McpEvent(Struct, frozen=True):
    """What clients may be told: that a list has changed, or the content of the resource of a `uri`."""

    kind: str  # of LISTS
    uri: str | None = None

    @property
    def message(self) -> dict[str, Json]:
        """Return the notification."""
        if self.uri is None:
            return {"jsonrpc": "2.0", "method": f"notifications/{self.kind}/list_changed"}
        return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": self.uri}}


class _Channel:
    """A stream that a client has opened, until nobody reads it any more."""

    def __init__(self, client: McpClient, wants: Callable[[McpEvent], bool], *, has_wishes: bool) -> None:
        self.client, self.wants, self.has_wishes = client, wants, has_wishes
        self.waiting: deque[McpEvent] = deque(maxlen=_MOST)
        self.is_over = False


class PendingReply:
    """A request of the server that the client has not answered yet."""

    def __init__(self) -> None:
        self.reply: Mapping[str, Json] | None = None


class McpStreams:
    """What is open to clients, and what they have said. Events may be published by any thread."""

    def __init__(self) -> None:
        self._channels: list[ref[_Channel]] = []
        self._unread: OrderedDict[McpClient, deque[McpEvent]] = OrderedDict()  # of who has not opened a stream yet
        self._pending: dict[tuple[str, str, str], ref[PendingReply]] = {}
        self._levels: OrderedDict[McpClient, str] = OrderedDict()
        self._subscribed: OrderedDict[McpClient, frozenset[str]] = OrderedDict()
        self._lock = Lock()

    def greet(self, client: McpClient) -> None:
        """Keep what a client that has just come would be told, until it opens its stream."""
        with self._lock:
            _keep(self._unread, client, deque[McpEvent](maxlen=_MOST))

    def open(self, client: McpClient, wants: Callable[[McpEvent], bool] | None = None) -> Iterator[McpEvent | float]:
        """Yield the messages for the client since it came, and the seconds to wait until it looks again."""
        wishes = wants or (lambda event: self._concerns(client, event))
        channel = _Channel(client, wishes, has_wishes=wants is not None)
        with self._lock:
            if wants is None:
                channel.waiting.extend(self._unread.pop(client, ()))
            self._channels = [each for each in self._channels if each() is not None]
            self._channels.append(ref(channel))
        return _follow(channel)

    def publish(self, namespace: str, server: str, event: McpEvent) -> None:
        """Tell all who listen to a server."""
        with self._lock:
            for client, unread in self._unread.items():
                if client.is_of(namespace, server) and self._concerns(client, event):
                    unread.append(event)
            told = set[str]()  # of sessions that have opened several streams, only the last one tells them anything
            for each in reversed(self._channels):
                channel = each()
                if channel is None or not channel.client.is_of(namespace, server) or not channel.wants(event):
                    continue
                session = None if channel.has_wishes else channel.client.session
                if session not in told:
                    channel.waiting.append(event)
                    told |= {session} if session is not None else set()

    def close(self, namespace: str, session: str | None = None) -> None:
        """End the streams of one of its sessions, or all of a namespace and what its clients have said."""
        with self._lock:
            channels = [channel for each in self._channels if (channel := each()) is not None]
            for channel in channels:
                if channel.client.namespace == namespace and session in (None, channel.client.session):
                    channel.is_over = True
            if session is None:
                for kept in (self._levels, self._subscribed, self._unread):
                    for client in [each for each in kept if each.namespace == namespace]:
                        del kept[client]

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
        self._pending[client.namespace, client.server, str(number)] = ref(pending)
        return pending

    def take_reply(self, client: McpClient, reply: Mapping[str, Json]) -> None:
        """Note what a client answers to a request of the server; one that nobody waits for is ignored."""
        found = self._pending.pop((client.namespace, client.server, str(reply.get("id"))), None)
        pending = None if found is None else found()
        if pending is not None:
            pending.reply = reply

    def set_level(self, client: McpClient, level: str) -> None:
        _keep(self._levels, client, level)

    def get_level(self, client: McpClient) -> str | None:
        return self._levels.get(client)

    def subscribe(self, client: McpClient, uri: str) -> None:
        _keep(self._subscribed, client, self._subscribed.get(client, frozenset()) | {uri})

    def unsubscribe(self, client: McpClient, uri: str) -> None:
        _keep(self._subscribed, client, self._subscribed.get(client, frozenset()) - {uri})

    def _concerns(self, client: McpClient, event: McpEvent) -> bool:
        """Return whether a client gets an event: one about a resource, only if it has subscribed to it."""
        return event.uri is None or event.uri in self._subscribed.get(client, ())


def _follow(channel: _Channel) -> Iterator[McpEvent | float]:
    while True:
        while channel.waiting:
            yield channel.waiting.popleft()
        if channel.is_over:
            return
        yield LOOK


def _keep(kept: OrderedDict[McpClient, Kept], key: McpClient, value: Kept) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _MOST:
        kept.popitem(last=False)
