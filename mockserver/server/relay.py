"""Relays one request to an upstream, and its answer back: bytes as they come, and a recorder that listens."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from starlette.types import Scope

from mockserver.core.action import NO_CLOSE_FRAME, Cut
from mockserver.core.call import Call
from mockserver.core.episode import Sent
from mockserver.core.http import HeaderLines, Headers, HttpRequest, RawHeaders, Reply
from mockserver.core.plan import Failure, Forward
from mockserver.core.row import COMPLETE, Row
from mockserver.core.seed import monotonic
from mockserver.core.socket_turn import SocketTurn
from mockserver.delivery.connection import CLIENT_LEFT, ClientConnection, wait_until_left
from mockserver.delivery.drive import drive
from mockserver.dialects import Dialect
from mockserver.server.access import add_origin_headers, forbid_scripts
from mockserver.server.live import Live
from mockserver.server.recording.player import Player
from mockserver.server.recording.recorder import MAX_RECORDED, Recorder, RecordingJob
from mockserver.server.recording.upstreams import (
    PASSED_BY,
    Upstream,
    find_upstream,
    relaying,
    replace_upload_urls,
    select_forwarded,
)
from mockserver.server.visit import Response

if TYPE_CHECKING:
    from httpx2 import Request
    from httpx2 import Response as Received

GRACE = 0.25  # seconds that the last event of a stream waits for the stream's end, to be recorded before it leaves

log = logging.getLogger("mockserver")


class Relay(Struct, eq=False, kw_only=True):
    """One request on its way to an upstream, and the answer on its way back."""

    live: Live
    dialect: Dialect
    response: Response
    client: ClientConnection
    row: Row
    own_urls: Callable[[HttpRequest, bytes], bytes] | None = None  # what `Operation.own_urls` is
    _recorder: Recorder | None = None
    _held: list[bytes] = []  # the end of the answer, which is saved before it leaves

    async def run(self, scope: Scope, more: Headers | HeaderLines) -> str:
        """Relay it, with more headers on the answer, and return how it ended. Raises Failure if no answer begins."""
        pump = asyncio.create_task(self._relay(scope, more))
        watch = asyncio.create_task(wait_until_left(self.client.receive))
        try:
            await asyncio.wait((pump, watch), return_when=asyncio.FIRST_COMPLETED)
            return pump.result() if pump.done() else CLIENT_LEFT
        finally:
            watch.cancel()
            await _cancel(pump)
            if self._recorder is not None:
                await self._recorder.conclude()
            del pump  # its failure would lead to it and back

    async def _relay(self, scope: Scope, more: Headers | HeaderLines) -> str:
        from httpx2 import HTTPError

        relaying.set(True)  # this task is for nothing else
        request = self.response.forwarded
        call = self.response.call
        forward = self.response.plan.outcome
        assert request is not None
        assert call is not None
        assert isinstance(forward, Forward)
        live = self.live
        sources = live.sources
        upstream = find_upstream(
            self.dialect, call, live.settings.upstream, environ=sources.environ, spelling=sources.spelling
        )
        keep = live.save_episode
        if forward.cassette is not None and keep is not None and request.method != "HEAD":  # HEAD gets no body
            is_probe = call.mcp is not None and call.mcp.method == "server/discover"  # older servers refuse it
            errors = False if is_probe else live.settings.record_errors
            sent = self._describe_request(request, call)
            job = RecordingJob(forward.cassette, call, request=sent, errors=errors, spelling=sources.spelling)
            self._recorder = Recorder(job, partial(keep, forward.cassette), self.row)
        received = await self._send_request(upstream, request, scope)
        try:
            return await self._send_answer(received, upstream, more)
        except HTTPError as error:
            _report_break(self._recorder, upstream.explain_break(error, live.settings.upstream_timeout))
            await self._release_held()
            # what ends with its connection, as in HTTP/1.0, would be taken for whole
            over_socket = None if request.turn is None else request.turn.upstream
            code = NO_CLOSE_FRAME if over_socket is None else over_socket.close_code
            return await drive((Cut("reset" if scope["http_version"] == "1.0" else "close", code),), self.client)
        finally:
            await received.aclose()

    def _describe_request(self, request: HttpRequest, call: Call) -> Sent:
        """Return the request to record, decoded; with all headers, so that every credential is found when saving."""
        dropped = b"content-encoding" if call.http.body != request.body else b""
        headers = _decode_headers([(name.lower(), value) for name, value in request.headers if name.lower() != dropped])
        query = self.row.query.decode("latin-1")
        return Sent(request.method, request.path, query=query, headers=headers, body=call.http.body)

    async def _send_request(self, upstream: Upstream, request: HttpRequest, scope: Scope) -> "Received":
        """Send the request to the upstream; return its answer once the head is there. Raises Failure."""
        from httpx2 import HTTPError, InvalidURL, Request, Timeout

        client = self.live.upstreams
        seconds = self.live.settings.upstream_timeout
        headers = [*upstream.build_headers(request.headers), *client.sign(request.headers)]
        if self.own_urls is not None:  # URLs cannot be found in coded bodies
            others = (field for field in headers if field[0] != b"accept-encoding")
            headers = [*others, (b"accept-encoding", b"identity")]
        body = request.body if request.body or request.method not in _BODILESS else None
        http = await client.get_client()
        try:
            url = upstream.build_url(request.path, scope["raw_path"], self.row.query)
            extensions = {"trace": self._trace, "timeout": Timeout(seconds).as_dict()}  # also between two pieces
            relayed = Request(request.method, url, headers=headers, content=body, extensions=extensions)
            async with asyncio.timeout(seconds):  # for the whole head
                over_socket = await self._send_over_socket(relayed, request.turn)
                return over_socket or await http.send(relayed, stream=True)
        except (HTTPError, InvalidURL, OSError, TimeoutError) as error:
            failure = upstream.make_failure(error, seconds)
            _report_break(self._recorder, str(failure.message))
            player = self.live.find_engine(self.row.namespace).player
            if self._recorder is not None and isinstance(player, Player):
                failure = failure.replace(message=f"{failure.message} {player.advise_replaying()}".rstrip())
            try:
                raise failure from None
            finally:
                del failure  # which would lead to itself

    async def _send_over_socket(self, request: "Request", turn: SocketTurn | None) -> "Received | None":
        """Send a request that came over a WebSocket, as a turn, over one if the upstream has it; else return None."""
        if turn is None or turn.upstream is None:
            return None
        received: Received | None = await turn.upstream.send(request, turn, on_sent=self._note_sent)
        return received

    def _note_sent(self) -> None:
        if self._recorder is not None:
            self._recorder.began = monotonic()

    async def _trace(self, event: str, _: object) -> None:
        if event.endswith("send_request_body.complete"):
            self._note_sent()

    async def _send_answer(self, response: "Received", upstream: Upstream, more: Headers | HeaderLines) -> str:
        recorder = self._recorder
        client = self.client
        status = response.status_code
        request = self.response.forwarded
        assert request is not None
        if status > _LAST_STATUS:
            raise Failure(
                "bad_gateway",
                f"The upstream of {self.dialect.label} answered with the status {status}, which is not valid in HTTP.",
            )
        headers = [
            upstream.translate_location(request, str(response.url), field)
            for field in _select_headers(response.headers.raw)
        ]
        if recorder is not None and PASSED_BY.decode() not in response.headers:
            recorder.open(status, headers)
        if self.own_urls is not None and request.method != "HEAD":
            self._held.append(self.own_urls(request, await self._receive_whole(response, upstream)))
            length = str(len(self._held[0])).encode()
            headers = [(name, length if name == b"content-length" else value) for name, value in headers]
        texts = _decode_headers(headers)
        self.row.note_answer(self.response.plan, Reply(status, texts))
        more = (*more, *forbid_scripts(request, texts))
        shown = replace_upload_urls(texts, request, self.dialect)
        if origins := self.live.settings.cors:
            shown, across = add_origin_headers(request, shown, origins)
            more = (*more, *across)
        await client.send_head(status, (*shown, *more))
        if not self._held:
            await self._pass_on(response.aiter_raw())
        if recorder is not None:
            await recorder.save()
        await self._release_held(last=True)
        return CLIENT_LEFT if client.wire is not None and client.wire.gone else COMPLETE

    async def _receive_whole(self, response: "Received", upstream: Upstream) -> bytes:
        """Return all of the body, before anything is sent. Raises Failure."""
        from httpx2 import HTTPError

        whole = bytearray()
        try:
            async for piece in response.aiter_raw():
                whole += piece
                if len(whole) > MAX_RECORDED:
                    raise Failure(
                        "bad_gateway",
                        f"The upstream of {self.dialect.label} sent a body of more than {MAX_RECORDED} bytes.",
                    )
        except HTTPError as error:
            failure = upstream.make_failure(error, self.live.settings.upstream_timeout)
            _report_break(self._recorder, str(failure.message))
            try:
                raise failure from None
            finally:
                del failure  # which would lead to itself
        if self._recorder is not None:
            self._recorder.receive(bytes(whole))
        return bytes(whole)

    async def _pass_on(self, pieces: AsyncIterator[bytes]) -> None:
        """Pass the pieces on, each at once; but hold the last one until it is known to be that, and saved."""
        recorder = self._recorder
        while (piece := await self._receive_next(pieces)) is not None:
            if recorder is not None:
                recorder.receive(piece)
            if recorder is not None and recorder.is_ready:
                self._held.append(piece)
            else:
                await self._send_piece(piece)

    async def _receive_next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        """Return the next piece, None at the end. What is held waits for it only a moment."""

        async def receive() -> bytes | None:
            return await anext(pieces, None)

        if not self._held or self._recorder is None:
            return await receive()
        coming = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((coming,), timeout=GRACE)
            if not coming.done():
                await self._recorder.save()
                await self._release_held()
            return await coming
        finally:
            await _cancel(coming)

    async def _release_held(self, *, last: bool = False) -> None:
        held = b"".join(self._held)
        self._held.clear()
        if last:
            if held:
                self.row.note_sent(held)
            await self.client.send({"type": "http.response.body", "body": held, "more_body": False})
        elif held:
            await self._send_piece(held)

    async def _send_piece(self, piece: bytes) -> None:
        self.row.note_sent(piece)
        if self.client.wire is None or not self.client.wire.send_piece(piece):
            await self.client.send({"type": "http.response.body", "body": piece, "more_body": True})


def _report_break(recorder: Recorder | None, why: str) -> None:
    if recorder is not None:
        recorder.forget(why)
    log.warning("%s", why)


async def _cancel(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()


def _select_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that concern its client; this server sends its own date."""
    lower = [(name.lower(), value) for name, value in headers]
    chunked = any(name == b"transfer-encoding" for name, _ in lower)
    length = [] if chunked else [field for field in lower if field[0] == b"content-length"][:1]
    return [
        field for field in (*select_forwarded(lower), *length) if field[0] != b"date" and not _UNFIT.search(field[1])
    ]


def _decode_headers(headers: RawHeaders) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


_LAST_STATUS = 599
_BODILESS = ("GET", "HEAD", "DELETE", "OPTIONS")
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # what no header may hold
