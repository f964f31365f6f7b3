"""One response of a Realtime session while it is sent: how far it is, and how it ends if it is cut short."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping

from msgspec import Struct
from pydantic_core import to_json
from starlette.types import Message

from mockserver.core.json import Json, try_parse
from mockserver.core.plan import Usage
from mockserver.core.server_sent_events import find_data
from mockserver.core.tokens import APPROX
from mockserver.dialects._openai_api.realtime.turns import count_images, make_options
from mockserver.media.samples import SampleFormat
from mockserver.server.socket_frames import EventSender
from mockserver.server.sockets.realtime_conversation import ConversationItem
from mockserver.server.visit import Visit
from mockserver.wire.realtime import TOKEN_OF_ASSISTANT, make_usage

Event = dict[str, Json]
LAST_TYPES = ("response.done", "error")  # of the events of a response


class OpenItem(Struct):
    """The item that is being sent, and its words so far."""

    item: ConversationItem
    index: int
    part: str = ""  # text or audio, once it has begun
    text: str = ""


class ResponseTurn:
    """A response: the visit of its request, and what was sent of it."""

    def __init__(self, visit: Visit, body: Mapping[str, Json], *, sound: SampleFormat, left: asyncio.Event) -> None:
        self.visit = visit
        self.body = body
        self.sound = sound
        self.left = left  # once set, its answer ends as if its client had left
        self.response: Event | None = None  # the response as it was when it began
        self.is_over = False  # nothing more of it is sent
        self.reason: str | None = None  # why it is cancelled
        self.output: list[Json] = []
        self.open: OpenItem | None = None
        self.spoken = 0  # bytes of sound

    @property
    def id(self) -> str:
        return "" if self.response is None else str(self.response["id"])

    @property
    def converses(self) -> bool:
        """Whether its items become part of the conversation."""
        return self.body.get("conversation") != "none"

    def follow(self, event: Event) -> None:
        """Take note of an event that is sent."""
        kind = event.get("type")
        open_item = self.open
        match kind:
            case "response.created":
                self.response = event["response"]
            case "response.output_item.added":
                self.open = OpenItem(ConversationItem(event["item"], self.sound), event["output_index"])
            case "response.content_part.added" if open_item is not None:
                open_item.part = event["part"]["type"]
                key = {"type": "output_audio", "transcript": ""}
                open_item.item.body["content"] = [
                    key if open_item.part == "audio" else {"type": "output_text", "text": ""}
                ]
            case "response.output_audio.delta" if open_item is not None:
                audio = b64decode(event["delta"])
                open_item.item.take(audio)
                self.spoken += len(audio)
            case str() if kind in _TEXTS and open_item is not None:
                self._write(open_item, open_item.text + event["delta"])
            case "response.output_item.done":
                if open_item is not None:
                    open_item.item.body.update(event["item"])
                self.output.append(event["item"])
                self.open = None
            case str() if kind in LAST_TYPES:
                self.is_over = True

    def _write(self, open_item: OpenItem, text: str) -> None:
        """Put the text so far into the item: a client that interrupts it gets that."""
        open_item.text = text
        body = open_item.item.body
        if body["type"] == "function_call":
            body["arguments"] = text
        elif body["content"]:
            body["content"][0]["transcript" if open_item.part == "audio" else "text"] = text

    def list_closing_events(self) -> Iterator[Event]:
        """Yield the events that end a response which is cancelled: what is open is closed as it is."""
        assert self.response is not None
        if self.open is not None:
            yield from self._close_item(self.open)
            self.output.append(self.open.item.body)
        done = {
            **self.response,
            "status": "cancelled",
            "status_details": {"type": "cancelled", "reason": self.reason},
            "output": self.output,
            "usage": self._count(),
        }
        yield {"type": "response.done", "response": done}

    def _close_item(self, opened: OpenItem) -> Iterator[Event]:
        body = opened.item.body
        body["status"] = "incomplete"
        place = {"response_id": self.id, "item_id": body["id"], "output_index": opened.index, "content_index": 0}
        if opened.part == "audio":
            part = {"type": "audio", "transcript": opened.text}
            yield {"type": "response.output_audio.done", **place}
            yield {"type": "response.output_audio_transcript.done", **place, "transcript": opened.text}
            yield {"type": "response.content_part.done", **place, "part": part}
        elif opened.part == "text":
            yield {"type": "response.output_text.done", **place, "text": opened.text}
            yield {"type": "response.content_part.done", **place, "part": {"type": "text", "text": opened.text}}
        index = {"response_id": self.id, "output_index": opened.index}
        yield {"type": "response.output_item.done", **index, "item": body}

    def _count(self) -> Json:
        call = self.visit.call
        texts = [item.get("arguments") or _read_text(item) for item in self.output]
        usage = Usage(0 if call is None else call.prompt_tokens, sum(map(APPROX.count, texts)))
        spoken = -(-self.spoken // self.sound.count_bytes(TOKEN_OF_ASSISTANT))
        seen = 0 if call is None else count_images(call)
        return make_usage(usage, make_options(self.body, seen), spoken=spoken)


def _read_text(item: Mapping[str, Json]) -> str:
    return "".join([part.get("transcript") or part.get("text") or "" for part in item.get("content") or ()])


_TEXTS = (
    "response.output_text.delta",
    "response.output_audio_transcript.delta",
    "response.function_call_arguments.delta",
)


class TurnSender(EventSender):
    """Has the session send the answer to one turn: each event of its stream, or what a rule states as the body."""

    def __init__(self, pass_on: Callable[[bytes, Event | None], Awaitable[None]]) -> None:
        super().__init__(_send_nothing, "")
        self._pass_on = pass_on

    async def send_event(self, event: bytes) -> None:
        data = find_data(event)
        if data:
            parsed = try_parse(data.decode("utf-8", "replace"))
            await self._pass_on(data, parsed if isinstance(parsed, dict) else None)

    async def send_frame(self, data: bytes) -> None:
        parsed = try_parse(data.decode("utf-8", "replace"))
        if isinstance(parsed, dict) and parsed.pop("status", None) is not None:  # only Responses has it
            data = to_json(parsed)
        await self._pass_on(data, parsed if isinstance(parsed, dict) else None)


async def _send_nothing(message: Message) -> None:
    """Send nothing: the session sends the frames itself."""
