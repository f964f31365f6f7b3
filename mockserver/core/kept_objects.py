"""Objects that clients make and ask for again: files, batches, conversations, ...

Their bodies are in the provider's shape from the start: a dialect makes and changes them, the engine only keeps them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Protocol

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.http import Headers
from mockserver.core.json import Json


class LargeData(Protocol):
    """The bytes of a file that are too many to be kept in memory."""

    @property
    def sha256(self) -> str:
        """The hash of the bytes."""

    def __len__(self) -> int: ...

    def open(self) -> BinaryIO:
        """Open the bytes for reading."""


Data = bytes | LargeData
BARE_SIZE = 2_000  # bytes of an object beside its texts


class KeptObject(Struct, frozen=True):
    """One object, with the fields that its provider shows once it is in its last status.

    `made_by` is the operation that makes objects of its kind. `owner` is the id of the object that it belongs to.
    `ahead` are its statuses before the last one: the first is that of now, and each retrieval drops one. `data` are the
    bytes of a file. `members` are the ids of objects that it groups. `model` is the name of the model that a job makes.
    `call` is the Call that other calls go on from. `gone`: it was deleted. `invented`: nobody made it, so it is not
    kept.
    """

    dialect: str
    made_by: str
    id: str
    body: Mapping[str, Json]
    owner: str = ""
    ahead: tuple[str, ...] = ()
    data: Data = b""
    members: tuple[str, ...] = ()
    model: str = ""
    call: Any = None
    gone: bool = False
    invented: bool = False

    @property
    def key(self) -> str:
        """The key under which it is kept."""
        return make_key(self.dialect, self.made_by, f"{self.owner}/{self.id}" if self.owner else self.id)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        held = len(self.data) if isinstance(self.data, bytes) else 0
        held += 0 if self.call is None else len(str(self.call))
        return BARE_SIZE + held + 60 * len(self.members) + sum([len(str(value)) for value in self.body.values()])

    @property
    def status(self) -> str:
        """Its status; objects of most kinds have none."""
        return self.ahead[0] if self.ahead else str(self.body.get("status") or "")

    @property
    def made_model(self) -> str:
        """The name of the model that exists because of it, if one does."""
        return self.model if self.status == "succeeded" else ""

    def begin(self, statuses: Sequence[str]) -> "KeptObject":
        """Return it in the first of these statuses; the last one stays. Without statuses it stays as it is."""
        if not statuses:
            return self
        *ahead, last = statuses
        return replace(self.change(status=last), ahead=tuple(ahead))

    def advance(self) -> "KeptObject":
        """Return it one status further, as each retrieval brings it."""
        return replace(self, ahead=self.ahead[1:]) if self.ahead else self

    def end(self, status: str) -> "KeptObject":
        """Return it in a last status, whatever was ahead."""
        return replace(self, ahead=()).change(status=status)

    def forget(self) -> "KeptObject":
        """Return what remains of it once it is deleted."""
        return replace(self, gone=True, data=b"", body={"id": self.id}, members=(), call=None)

    def change(self, **fields: Json) -> "KeptObject":
        """Return it with other values of some fields."""
        return replace(self, body={**self.body, **fields})


def make_key(dialect: str, made_by: str, name: str) -> str:
    """Return under which key something is kept that this operation made."""
    return f"{dialect} {made_by} {name}"


class ObjectView(Struct, frozen=True):
    """What a call about objects is answered with: a JSON object, or the bytes of a file with their header fields."""

    body: Mapping[str, Json] = {}
    data: Data | None = None
    headers: Headers = ()
    status: int = 200
