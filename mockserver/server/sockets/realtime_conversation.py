"""The conversation of a Realtime session: its items in order, with what was heard and said in them."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct, field
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.text import truncate
from mockserver.media.samples import PCM, SampleFormat

MAX_BYTES = 16_000_000  # of what is written in all items; a client that sends more has to delete some
MAX_SOUND = 32_000_000  # bytes of sound that are kept; of more, the oldest is forgotten
MAX_SHOWN = 700_000  # bytes of sound in one event, which as base64 fit into the 1 MiB that clients take


class ConversationItem(Struct):
    """An item as the client sees it, and its sound, which only retrieving it shows, as long as it is kept.

    `length` counts the bytes of the sound. `heard` is what was said in it; the client sees that only if its session
    transcribes.
    """

    body: dict[str, Json]
    sound: SampleFormat = PCM
    audio: bytearray = field(default_factory=bytearray)
    length: int = 0
    heard: str = ""

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @property
    def content(self) -> list[dict[str, Json]]:
        content = self.body.get("content")
        return content if isinstance(content, list) else []

    @property
    def is_unheard(self) -> bool:
        """Whether it is sound of the user without a transcript."""
        is_spoken = any(part["type"] == "input_audio" and part["transcript"] is None for part in self.content)
        return is_spoken and self.length > 0

    @property
    def milliseconds(self) -> int:
        return self.sound.measure(self.length)

    def take(self, audio: bytes) -> None:
        """Add sound to the item."""
        self.audio += audio
        self.length += len(audio)

    def show(self) -> dict[str, Json]:
        """Return the item with its sound."""
        if not self.audio or len(self.audio) > MAX_SHOWN:
            return self.body
        audio = b64encode(self.audio).decode()
        shown = [{**part, "audio": audio} if part["type"] in _SPOKEN else part for part in self.content]
        return {**self.body, "content": shown}

    def write(self) -> dict[str, Json]:
        """Return the item as the request of a turn has it: with its transcript, and how long it was heard."""
        if not self.content:
            return self.body
        parts = [self._write_part(part) for part in self.content]
        return {**self.body, "content": parts}

    def _write_part(self, part: dict[str, Json]) -> dict[str, Json]:
        if part["type"] not in _SPOKEN:
            return part
        text = part.get("transcript") or self.heard
        written: dict[str, Json] = {"type": part["type"], "transcript": text}
        if part["type"] == "input_audio" and self.length:
            written["audio_ms"] = self.milliseconds
            if not text:  # else nothing would tell one sound from another
                written["audio_sha256"] = sha256(self.audio).hexdigest()
        return written

    def write_for_provider(self) -> dict[str, Json]:
        """Return the item as the provider takes it: what the user said as sound, what the assistant said as text."""
        if not self.content:
            return self.body
        return {**self.body, "content": [self._write_part_for_provider(part) for part in self.content]}

    def _write_part_for_provider(self, part: dict[str, Json]) -> dict[str, Json]:
        match part["type"]:
            case "output_audio":
                return {"type": "output_text", "text": part.get("transcript") or ""}
            case "input_audio" if self.audio:
                audio = b64encode(self.sound.decode(bytes(self.audio))).decode()
                return {"type": "input_audio", "audio": audio}
            case "input_audio":
                return {"type": "input_text", "text": part.get("transcript") or self.heard}
        return part

    def shorten(self, content_index: int, end: int) -> None:
        """Cut the sound of the assistant after `end` milliseconds, and its words in proportion. Raises Failure."""
        content = self.content
        if self.body.get("role") != "assistant" or not any(part["type"] == "output_audio" for part in content):
            message = "Only model output audio messages can be truncated"
            raise Failure("bad_parameter", message, code="unsupported_content_type", param="item_id")
        if content_index >= len(content):
            message = f"Invalid content index: {content_index}. The item has {len(content)} content parts."
            raise Failure("bad_parameter", message, code="invalid_value", param="content_index")
        length = self.milliseconds
        if end > length:
            message = f"Audio content of {length}ms is already shorter than {end}ms"
            raise Failure("bad_parameter", message, code="invalid_value", param="audio_end_ms")
        words = str(content[content_index].get("transcript") or "")
        kept = words if end == length else words[: len(words) * end // max(length, 1)]
        content[content_index] = {**content[content_index], "transcript": kept}
        self.length = min(self.length, self.sound.count_bytes(end))
        del self.audio[self.length :]


_SPOKEN = ("input_audio", "output_audio")


def make_item(stated: Mapping[str, Json], name: str, sound: SampleFormat) -> ConversationItem:
    """Return an item as a client states it, its sound apart and not transcribed yet. Raises Failure."""
    body = {"id": name, **{key: value for key, value in stated.items() if value is not None and key != "object"}}
    body = {"id": body.pop("id"), "type": body.pop("type"), "status": body.pop("status", "completed"), **body}
    item = ConversationItem(body, sound)
    if isinstance(body.get("content"), list):
        body["content"] = [_take_sound(item, part) for part in body["content"]]
    if body["type"] == "function_call" and not body.get("call_id"):
        body["call_id"] = f"call_{name[-16:]}"
    return item


def _take_sound(item: ConversationItem, part: Mapping[str, Json]) -> dict[str, Json]:
    """Return a part without its sound, which its item keeps."""
    if part["type"] not in _SPOKEN:
        return dict(part)
    item.take(decode_audio(part.get("audio") or ""))
    return {"type": part["type"], "transcript": part.get("transcript")}


def decode_audio(text: str) -> bytes:
    """Return the bytes of a sound in base64. Raises Failure."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        message = "Invalid 'audio'. Expected base64-encoded audio bytes, but got an invalid value."
        raise Failure("bad_parameter", message, code="invalid_value", param="audio") from None


class RealtimeConversation:
    """The items of a session's conversation, in order, by their ids."""

    def __init__(self) -> None:
        self._items: dict[str, ConversationItem] = {}
        self._order: list[str] = []
        self._sizes: dict[str, int] = {}
        self.has_spoken = False  # the assistant was heard, so its voice stays

    def __iter__(self) -> Iterator[ConversationItem]:
        return map(self._items.__getitem__, self._order)

    @property
    def size(self) -> int:
        """The bytes that its items hold, with their sound."""
        return sum(self._sizes.values()) + self._count_sound()

    def _count_sound(self) -> int:
        return sum([len(item.audio) for item in self._items.values()])

    def get(self, name: str) -> ConversationItem | None:
        """Return the item of an id, or None."""
        return self._items.get(name)

    def find(self, name: str, verb: str, doing: str) -> ConversationItem:
        """Return the item of an id. Raises Failure, worded for what is done with it: `Error deleting item: ...`."""
        item = self._items.get(name)
        if item is None:
            message = f"Error {doing} item: the item with id '{truncate(name)}' does not exist."
            raise Failure("bad_parameter", message, code=f"item_{verb}_invalid_item_id", param="item_id")
        return item

    def add(self, item: ConversationItem, after: str | None = None) -> str | None:
        """Add an item at the end, or after another one (`root`: at the front); return which one it comes after.

        Raises Failure.
        """
        if item.id in self._items:
            message = f"Error adding item: an item with id '{item.id}' already exists."
            raise Failure("bad_parameter", message, code="item_create_duplicate_item_id", param="item.id")
        if after not in (None, "root") and after not in self._items:
            message = f"Error adding item: the previous item with id '{truncate(after or '')}' does not exist."
            raise Failure("bad_parameter", message, code="invalid_value", param="previous_item_id")
        size = len(to_json(item.body))
        if sum(self._sizes.values()) + size > MAX_BYTES:
            message = f"The items of this conversation have more than {MAX_BYTES:,} bytes. Delete some of them."
            raise Failure("bad_parameter", message, code="conversation_too_large")
        place = len(self._order)
        if after is not None:
            place = 0 if after == "root" else self._order.index(after) + 1
        self._items[item.id] = item
        self._sizes[item.id] = size
        self._order.insert(place, item.id)
        return self._order[place - 1] if place else None

    def find_previous(self, name: str) -> str | None:
        """Return which item comes before one."""
        place = self._order.index(name) if name in self._items else len(self._order)
        return self._order[place - 1] if place else None

    def delete(self, name: str) -> None:
        """Remove an item. Raises Failure if it does not exist."""
        self.find(name, "delete", "deleting")
        del self._items[name], self._sizes[name]
        self._order.remove(name)

    def forget_sound(self) -> None:
        """Forget the oldest sounds if there are too many."""
        held = self._count_sound()
        for item in self:
            if held <= MAX_SOUND:
                return
            held -= len(item.audio)
            item.audio = bytearray()

    def check_result(self, item: ConversationItem) -> None:
        """Refuse the result of a call that nobody made. Raises Failure."""
        call_id = item.body.get("call_id")
        if item.body["type"] != "function_call_output" or any(
            each.body.get("call_id") == call_id for each in self if each.body["type"] == "function_call"
        ):
            return
        message = f"Tool call ID '{truncate(str(call_id))}' not found in conversation."
        raise Failure("bad_parameter", message, code="invalid_value", param="item.call_id")

    def select(self, stated: Sequence[Mapping[str, Json]], sound: SampleFormat) -> list[ConversationItem]:
        """Return the items that a response is to see in place of the conversation's. Raises Failure."""
        selected: list[ConversationItem] = []
        for at, each in enumerate(stated):
            if each["type"] == "item_reference":
                found = self._items.get(str(each["id"]))
                if found is None:
                    message = f"Item with id '{truncate(str(each['id']))}' not found."
                    raise Failure("bad_parameter", message, code="invalid_value", param=f"response.input[{at}].id")
                selected.append(found)
            else:
                selected.append(make_item(each, f"item_{at}", sound))
        return selected
