"""What every request of the control API has in common: what was asked, JSON that answers it, and refusals."""

import json
from asyncio import Task
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence

from msgspec import Struct, field
from pydantic_core import from_json
from starlette.responses import Response, StreamingResponse

from mockserver.config.errors import Mistake
from mockserver.core.json import Json
from mockserver.core.row import Row
from mockserver.rules.load import Rule
from mockserver.server.control.rows import Rows
from mockserver.server.live import Live
from mockserver.server.namespaces import ALL
from mockserver.state.journal import Journal


class RuleRemarks(Struct, frozen=True):
    """Remarks on rules, by the id of each object."""

    rules: Sequence[Rule]
    texts: Mapping[int, list[str]]


class ControlCache(Struct):
    """What was worked out for earlier requests, and what goes on after its request was answered."""

    open_feeds: int = 0
    tasks: set[Task[bool]] = field(default_factory=set)  # calls that are sent again
    remarks: RuleRemarks | None = None  # on the rules that were listed last
    _rows: Rows | None = None

    def find_rows(self, journal: Journal) -> Rows:
        """Return what is known of the calls of a journal; a reset begins another one."""
        if self._rows is None or self._rows.journal is not journal:
            self._rows = Rows(journal)
        return self._rows


class ControlRequest(Struct, frozen=True):
    """One request of the control API.

    `since_at`: the time of the call that `?since=` names, where another server passes the request on, which counts its
    calls in numbers of its own. `group` is what that server and its workers are known by.
    """

    live: Live
    namespace: str
    query: Mapping[str, str] = {}
    item: str = ""  # the name at the end of the path
    body: bytes = b""
    kind: str = ""  # its content-type
    address: str = ""  # where the client reaches the server: http://127.0.0.1:8000
    trusted: bool = True  # it has the token, if one is needed
    cache: ControlCache = field(default_factory=ControlCache)
    method: str = ""
    path: str = ""
    since_at: float | None = None
    group: str | None = None

    @property
    def rows(self) -> Rows:
        return self.cache.find_rows(self.live.journal)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that are meant: one, or with `*` all that are in use."""
        return self.live.namespaces.list_names() if self.namespace == ALL else (self.namespace,)

    @property
    def one_namespace(self) -> str:
        if self.namespace == ALL:
            raise RefusedError(400, "this request is for one namespace; name it: ?namespace=NAME")
        return self.namespace

    def read_switch(self, name: str) -> bool:
        """Return whether a parameter of the query is on. Raises RefusedError."""
        word = self.query.get(name, "false").lower()
        if word not in ("true", "1", "", "false", "0"):
            raise RefusedError(400, f"?{name}= must be true or false, not {_quote(word)}")
        return word not in ("false", "0")

    def read_number(self, name: str) -> int | None:
        """Return a parameter of the query as a number, or None. Raises RefusedError."""
        word = self.query.get(name)
        return None if word is None else parse_number(word, f"?{name}=")

    def read_content(self) -> Json:
        """Return the body, which must be JSON. Raises RefusedError."""
        try:
            return from_json(self.body)
        except ValueError as error:
            raise RefusedError(400, f"the body is not JSON: {error}; send a JSON object") from error

    def read_table(self, *keys: str) -> dict[str, Json]:
        """Return the body as a JSON object with no keys but these. Raises RefusedError."""
        content = self.read_content()
        known = ", ".join(f'"{key}"' for key in keys)
        if not isinstance(content, dict):
            raise RefusedError(400, f"the body must be a JSON object with {known}")
        if unknown := [key for key in content if key not in keys]:
            raise RefusedError(400, f"unknown key {_quote(unknown[0])}; this takes {known}")
        return content

    def find_call(self, number: int | None = None) -> Row:
        """Return the call of this number, by default the one that the path names. Raises RefusedError."""
        number = parse_number(self.item, "the number of a call") if number is None else number
        row = self.live.journal.find(number)
        if row is None or ("namespace" in self.query and row.namespace not in self.namespaces):
            last = max((other.seq for other in self.live.journal), default=None)
            there = "the journal is empty" if last is None else f"the latest is {last}"
            older = "" if last is None or number > last else ", and the oldest are forgotten"
            raise RefusedError(404, f"there is no call {number} in the journal; {there}{older}")
        return row


class RefusedError(Exception):
    """A request that is answered with an error: `response` says why."""

    def __init__(
        self, status: int, error: str, *, mistakes: Iterable[Mistake] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.mistakes = tuple(mistakes)
        listed = [str(mistake) for mistake in self.mistakes]
        content: dict[str, Json] = {"error": error, **({"mistakes": listed} if listed else {})}
        self.response = make_json_response(content, status)
        self.response.headers.update(headers or {})


def make_json_response(content: Json, status: int = 200) -> Response:
    """Return a response of JSON, in lines; halves of surrogate pairs, which UTF-8 cannot write, become escapes."""
    return Response(
        _write_text(content).encode("utf-8", "backslashreplace") + b"\n", status, media_type="application/json"
    )


def _write_text(content: Json) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, default=str)


def make_list_response(name: str, items: AsyncIterable[Json]) -> Response:
    """Return a table with one list, made as it is sent; the bytes are those of `make_json_response`."""

    async def write_pieces() -> AsyncIterator[bytes]:
        mark = f'{{\n  "{name}": ['
        async for item in items:
            shown = _write_text(item).replace("\n", "\n    ")
            yield f"{mark}\n    {shown}".encode("utf-8", "backslashreplace")
            mark = ","
        yield b"\n  ]\n}\n" if mark == "," else f"{mark}]\n}}\n".encode()

    return StreamingResponse(write_pieces(), media_type="application/json")


async def read_response(response: Response) -> bytes:
    """Return the whole body of a response."""
    if not isinstance(response, StreamingResponse):
        return bytes(response.body)
    pieces = [piece async for piece in response.body_iterator]
    return b"".join(piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces)


def parse_number(word: str, what: str) -> int:
    """Return the number that a word is. Raises RefusedError, which says that `what` must be one."""
    if not (word.isascii() and word.isdigit() and len(word) < 18):
        raise RefusedError(400, f"{what} must be a whole number, not {_quote(word)}")
    return int(word)


def _quote(word: str) -> str:
    return json.dumps(word[:60])
