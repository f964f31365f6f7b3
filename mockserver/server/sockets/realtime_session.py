"""Realtime over a WebSocket, as OpenAI serves it: a session keeps the conversation, and each response is a request.

That request has the whole conversation (`dialects/_openai_api/realtime/turns.py`), `Responder.respond` answers it, and
each event of that stream leaves as one frame. So rules, limits, timing, faults and the journal are the same as over
HTTP.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, make_key
from mockserver.core.plan import Failure
from mockserver.core.row import COMPLETE
from mockserver.core.seed import make_token
from mockserver.core.socket_turn import SocketAnswers, SocketTurn
from mockserver.core.tokens import APPROX
from mockserver.core.validation import find_validation
from mockserver.dialects._openai_api.realtime.events import read_event
from mockserver.dialects._openai_api.realtime.sessions import LASTS, make_session, read_output, update_session
from mockserver.dialects._openai_api.realtime.turns import make_failed_events, read_error
from mockserver.dialects._openai_api.responses import list_connectors, read_tool
from mockserver.dialects._parse import Body, read_json
from mockserver.dialects._reply import STREAM_LINES
from mockserver.engine.engine import Engine
from mockserver.engine.hosted_mcp import find_hosted_servers
from mockserver.engine.offload import LARGEST_IN_LOOP, on_thread
from mockserver.kinds.audio import Transcript
from mockserver.kinds.realtime import CALLS, CLIENT_SECRET
from mockserver.media.samples import FORMATS
from mockserver.media.speech_detection import SpeechBorder
from mockserver.server.access import check_key, check_model_allowed
from mockserver.server.respond import Responder
from mockserver.server.socket_frames import find_type, fit_to_socket, is_stream
from mockserver.server.sockets.realtime_conversation import (
    ConversationItem,
    RealtimeConversation,
    decode_audio,
    make_item,
)
from mockserver.server.sockets.realtime_input import InputBuffer, OngoingSpeech
from mockserver.server.sockets.realtime_turn import LAST_TYPES, Event, ResponseTurn, TurnSender
from mockserver.server.sockets.realtime_upstream import RealtimeUpstream
from mockserver.server.sockets.socket_session import CUT_SHORT, FAILED
from mockserver.server.sockets.spoken_record import RecordedSession
from mockserver.server.visit import Response
from mockserver.wire.realtime import LISTED, write_listed

# codes with which a client is turned away
BAD_KEY = 3000
BAD_REQUEST = 4000
NO_MODEL = 4004
BROWSER_KEY = "openai-insecure-api-key."  # how the subprotocol begins in which a browser sends its key
MAX_AT_ONCE = 16  # responses of a session
TOKENS_PER_MINUTE = 2_000_000
_SECONDS_COUNT = ("whisper-1", "gpt-transcribe", "gpt-live-transcribe")  # transcribers that are paid by the second


class TurnedAway(Exception):  # noqa: N818  # it is how a session ends
    """Why a client is turned away, and the code with which its connection is closed."""

    def __init__(self, failure: Failure, code: int) -> None:
        super().__init__(failure.message or failure.reason)
        self.failure = failure
        self.code = code


class RealtimeSession(RecordedSession):
    """The session of a client."""

    expiry = "Your session hit the maximum duration of 60 minutes."

    def __init__(
        self, responder: Responder, handshake: HttpRequest, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        offered: list[str] = scope.get("subprotocols") or []
        super().__init__(responder, read_browser_key(handshake, offered), scope=scope, receive=receive, send=send)
        self._offered = offered
        self._engine = self._find_engine()
        self._conversation = RealtimeConversation()
        self._active: ResponseTurn | None = None  # of the conversation
        self._turns: set[ResponseTurn] = set()
        self._upstream = RealtimeUpstream()
        self._events = 0
        self._named = 0
        self._session: Body = make_session("realtime", "", model="", expires_at=0)
        self._input = InputBuffer(self._session["audio"]["input"])
        self._name = ""
        self._conversation_id = ""
        self._event_id: str | None = None  # of the client's event that is being handled

    @property
    def subprotocol(self) -> str | None:
        return "realtime" if "realtime" in self._offered else None

    def _find_engine(self) -> Engine:
        live = self.responder.live
        return live.namespaces.touch(self.handshake.namespace).find_engine(live.engine)

    # Beginning and end

    async def greet(self) -> bool:
        record = self.begin_record(self.handshake.query.get("model", ""))
        try:
            self._session = await self._open()
        except TurnedAway as refused:
            error = self._make_error(refused.failure)
            response = await self.refuse(refused.failure, record.visit)
            record.refuse(response.plan, response.reply.status)
            await self._complain(error, None)
            await self.close(refused.code, f"{error['type']}.{error['code']}")
            return False
        self._input.configure(self._session["audio"]["input"])
        await self._say("session.created", session=self._session)
        await self._list_tools()
        return True

    async def _open(self) -> Body:
        """Return the session that the handshake asks for. Raises TurnedAway."""
        handshake = self.handshake
        query = self.handshake.query
        policy = self._engine.policy
        mark = make_token() if policy.unique_ids else ""
        labels = (handshake.namespace, *[f"{key}={value}" for key, value in query.items()], mark)
        self._name = f"sess_{policy.seed.draw_alnum(21, 'realtime session', *labels)}"
        self._conversation_id = f"conv_{policy.seed.draw_alnum(21, 'realtime conversation', *labels)}"
        if "realtime=v1" in (handshake.find_header("openai-beta") or ""):
            raise TurnedAway(_refuse("beta_api_shape_disabled", _NO_BETA), BAD_REQUEST)
        secret = await self._find_secret()
        self._check_key(secret)
        opened_by = secret or await self._find_kept(CALLS.made_by, query.get("call_id", ""))
        stated: Body = {} if opened_by is None else opened_by.body["session"]
        model = query.get("model") or query.get("deployment") or stated.get("model") or ""
        kind = "transcription" if query.get("intent") == "transcription" else "realtime"
        kind = stated.get("type", kind)
        if kind == "realtime" and not model and "call_id" not in query:
            raise TurnedAway(_refuse("missing_model", _NO_NAME), BAD_REQUEST)
        self._check_model(model)
        usual = make_session(kind, self._name, model=model, expires_at=policy.clock.now() + LASTS)
        return {**usual, **stated, **{key: usual[key] for key in ("id", "expires_at")}}

    async def _find_secret(self) -> KeptObject | None:
        """Return the client secret with which the session is opened, if it is one; the key behind it then counts."""
        key = self.responder.dialect.read_credential(self.handshake)
        if key is None or not key.startswith("ek_"):
            return None
        secret = await self._find_kept(CLIENT_SECRET.name, key)
        if secret is None:
            return None
        if secret.body["expires_at"] < self._engine.policy.clock.now():
            raise TurnedAway(Failure("invalid_key", details={"key": key}), BAD_KEY)
        self.handshake = _put_key(self.handshake, secret.body["key"])
        return secret

    async def _find_kept(self, made_by: str, name: str) -> KeptObject | None:
        """Return what a request over HTTP has prepared for sessions: a secret, or a call."""
        key = make_key(self.responder.dialect.name, made_by, name)
        found = await self._engine.memory.store.get(self.handshake.namespace, key)
        return found.value if found is not None and isinstance(found.value, KeptObject) else None

    def _check_key(self, secret: KeptObject | None) -> None:
        """Raise TurnedAway for a key that the settings do not list."""
        keys = self.responder.live.settings.keys
        if keys is None:
            return
        try:
            check_key(self.responder.dialect.read_credential(self.handshake), keys)
        except Failure as failure:
            raise TurnedAway(failure, BAD_KEY) from None

    def _check_model(self, model: str) -> None:
        """Raise TurnedAway for a model that does not exist, or that the key may not use."""
        keys = self.responder.live.settings.keys
        models = self._engine.policy.models
        if not model:
            return
        try:
            models.admit(model)
            check_model_allowed(model, self.responder.dialect.read_credential(self.handshake), keys, models)
        except Failure as failure:
            raise TurnedAway(failure, NO_MODEL) from None

    async def say_expired(self) -> None:
        await self._complain(self._make_error(_refuse("session_expired", self.expiry)), None)

    async def end_answers(self, *, in_time: float | None) -> None:
        if in_time is not None:
            for turn in self._turns:
                turn.left.set()
        try:
            await self.end_tasks(in_time=in_time)
        finally:
            self.responder.live.unsent.release(self)
            await self._upstream.close()

    # Events of the client

    @property
    def size(self) -> int:
        return self._input.size + self._conversation.size

    async def act(self, message: Message) -> None:
        self._event_id = None
        text = message.get("text")
        if text is None:
            raise Failure("bad_parameter", _NO_BINARY, code="invalid_event")
        body = text.encode("utf-8", "surrogatepass")
        try:
            read = await on_thread(read_json, body) if len(body) > LARGEST_IN_LOOP else read_json(body)
        except Failure as failure:
            raise failure.replace(code="invalid_json") from None
        stated_id = read.get("event_id") if isinstance(read, dict) else None
        self._event_id = stated_id if isinstance(stated_id, str) and len(stated_id) <= _LONGEST_ID else None
        settings = self.responder.live.settings
        event = read_event(read, find_validation(self.responder.dialect.name, settings.validation))
        if event["type"] in _KEEPING:
            self.hold_message(body)
        await _ACTS[event["type"]](self, event)

    async def complain(self, failure: Failure) -> None:
        """Tell the client what is wrong with its event; the session goes on."""
        await self._complain(self._make_error(failure), self._event_id)

    async def _update(self, event: Body) -> None:
        has_spoken = self._conversation.has_spoken
        self._session = update_session(self._session, event["session"], has_spoken=has_spoken)
        self._input.configure(self._session["audio"]["input"])
        await self._say("session.updated", session=self._session)
        await self._list_tools()

    async def _list_tools(self) -> None:
        """Add an item with the tools of each MCP server that the session names, unless the conversation has it."""
        tools = [read_tool(tool) for tool in self._session.get("tools") or ()]
        listed = {item.body.get("server_label") for item in self._conversation if item.body["type"] == LISTED}
        for hosted in find_hosted_servers(list_connectors(tools), self._find_engine().servers, tools):
            if hosted.label not in listed:
                name = self._name_item()
                item = ConversationItem(write_listed(name, hosted.list_tools(hosted.allowed_names)))
                previous = self._conversation.add(item)
                body: Body = {**item.body, "tools": []}
                await self._say("conversation.item.added", previous_item_id=previous, item=body)
                for what in ("in_progress", "completed"):
                    await self._say(f"{LISTED}.{what}", item_id=name)
                await self._say("conversation.item.done", previous_item_id=previous, item=item.body)

    async def _append(self, event: Body) -> None:
        encoded = event["audio"]
        if len(encoded) > LARGEST_IN_LOOP:
            borders = await on_thread(lambda: self._input.append(decode_audio(encoded)))
        else:
            borders = self._input.append(decode_audio(encoded))
        for border in borders:
            await self._notice(border)
        silence = None if self._active is not None else self._input.take_silence()
        if silence is not None:
            name = self._name_item()
            span = {"audio_start_ms": silence.start, "audio_end_ms": silence.end}
            await self._say("input_audio_buffer.timeout_triggered", **span, item_id=name)
            await self._end_turn(silence.audio, name, is_silent=True)

    async def _notice(self, border: SpeechBorder) -> None:
        """Tell that the user has begun to speak, or make a turn of what was said."""
        if border.is_start:
            item_id = self._name_item()
            start = max(border.at - self._input.prefix, 0)
            self._input.speech = OngoingSpeech(start, item_id)
            await self._say("input_audio_buffer.speech_started", audio_start_ms=start, item_id=item_id)
            if self._detection.get("interrupt_response") and self._active is not None:
                await self._cancel(self._active, "turn_detected")
            return
        speech = self._input.speech
        if speech is None:
            return
        await self._say("input_audio_buffer.speech_stopped", audio_end_ms=border.at, item_id=speech.item_id)
        await self._end_turn(self._input.take_speech(speech.start, border.at), speech.item_id)

    async def _end_turn(self, audio: bytes, item_id: str, *, is_silent: bool = False) -> None:
        """Make an item of what was said, and answer it if the session does so by itself."""
        await self._add_spoken(audio, item_id, is_silent=is_silent)
        if self._detection.get("create_response"):
            await self._respond_to({})

    @property
    def _detection(self) -> Body:
        return self._session["audio"]["input"]["turn_detection"] or {}

    async def _commit(self, event: Body) -> None:
        speech = self._input.speech
        audio = self._input.take_all()
        await self._add_spoken(audio, self._name_item() if speech is None else speech.item_id)

    async def _clear(self, event: Body) -> None:
        self._input.clear()
        await self._say("input_audio_buffer.cleared")

    async def _add_spoken(self, audio: bytes, item_id: str, *, is_silent: bool = False) -> None:
        """Make an item of what the user has said, and tell what that was if the session transcribes."""
        sound = self._input.sound
        part: dict[str, Json] = {"type": "input_audio", "transcript": None}
        body: dict[str, Json] = {"id": item_id, "type": "message", "status": "completed", "role": "user"}
        item = ConversationItem({**body, "content": [part]}, sound)
        item.take(audio)
        failure = None if is_silent else await self._listen(item)
        previous = self._conversation.add(item)
        self._conversation.forget_sound()
        await self._say("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)
        for what in ("added", "done"):
            await self._say(f"conversation.item.{what}", previous_item_id=previous, item=item.body)
        transcription = self._session["audio"]["input"]["transcription"]
        if transcription is not None and failure is None:
            await self._transcribe(item, transcription.get("model") or "")
        elif transcription is not None:
            kind = "conversation.item.input_audio_transcription.failed"
            await self._say(kind, item_id=item_id, content_index=0, error=failure)

    async def _listen(self, item: ConversationItem) -> dict[str, Json] | None:
        """Note what the user says in an item; return why that is not known, if so.

        A rule may state it. Else it is what mockserver's own speech carries, or plain words that fit.
        """
        heard = await self.hear(self._session["audio"]["input"]["transcription"] or {}, bytes(item.audio), item.sound)
        plan = heard.plan
        outcome = plan.outcome
        item.heard = heard.text or ""
        # An answer of a rule is a call in the journal; what is heard without one is not.
        if isinstance(outcome, Transcript | Failure) and plan.source.startswith("rule "):
            visit = self.admit(heard.call.http)
            if isinstance(outcome, Failure):
                response = visit.refuse(outcome.replace(source=plan.source), heard.call)
            else:
                response = Response(plan.rendered, Reply(200, ()), heard.call)
            visit.finish(response)
            visit.end(COMPLETE)
        if heard.text is None:
            return self._make_error(outcome if isinstance(outcome, Failure) else Failure("server_error", _NOT_HEARD))
        return None

    async def _transcribe(self, item: ConversationItem, model: str) -> None:
        kind = "conversation.item.input_audio_transcription"
        place = {"item_id": item.id, "content_index": 0}
        is_paid_by_second = model in _SECONDS_COUNT
        for piece in [item.heard] if is_paid_by_second else APPROX.split(item.heard):
            await self._say(f"{kind}.delta", **place, delta=piece)
        item.content[0]["transcript"] = item.heard
        length = item.milliseconds
        usage: dict[str, Json] = {"type": "duration", "seconds": -(-length // 1000)}
        if not is_paid_by_second:
            heard = -(-length // 100)
            written = APPROX.count(item.heard)
            usage = {"type": "tokens", "total_tokens": heard + written, "input_tokens": heard}
            usage |= {"input_token_details": {"text_tokens": 0, "audio_tokens": heard}, "output_tokens": written}
        await self._say(f"{kind}.completed", **place, transcript=item.heard, usage=usage)

    async def _create_item(self, event: Body) -> None:
        stated = event["item"]
        sound = self._input.sound
        name = stated.get("id") or self._name_item()
        is_spoken = any(part.get("audio") for part in stated.get("content") or ())
        item = await on_thread(make_item, stated, name, sound) if is_spoken else make_item(stated, name, sound)
        self._conversation.check_result(item)
        if item.is_unheard:
            await self._listen(item)
        previous = self._conversation.add(item, event.get("previous_item_id"))
        self._conversation.forget_sound()
        for what in ("added", "done"):
            await self._say(f"conversation.item.{what}", previous_item_id=previous, item=item.body)

    async def _retrieve_item(self, event: Body) -> None:
        item = self._conversation.find(event["item_id"], "retrieve", "retrieving")
        await self._say("conversation.item.retrieved", item=item.show())

    async def _truncate_item(self, event: Body) -> None:
        item = self._conversation.find(event["item_id"], "truncate", "truncating")
        item.shorten(event["content_index"], event["audio_end_ms"])
        repeated = {name: event[name] for name in ("item_id", "content_index", "audio_end_ms")}
        await self._say("conversation.item.truncated", **repeated)

    async def _delete_item(self, event: Body) -> None:
        self._conversation.delete(event["item_id"])
        await self._say("conversation.item.deleted", item_id=event["item_id"])

    async def _create_response(self, event: Body) -> None:
        await self._respond_to(event.get("response") or {})

    async def _cancel_response(self, event: Body) -> None:
        wanted = event.get("response_id")
        turns = [self._active] if wanted is None else [turn for turn in self._turns if turn.id == wanted]
        turn = next((each for each in turns if each is not None and not each.is_over), None)
        if turn is None:
            message = "Cancellation failed: no active response found"
            raise Failure("bad_parameter", message, code="response_cancel_not_active")
        await self._cancel(turn, "client_cancelled")

    # Responses

    async def _respond_to(self, stated: Body) -> None:
        """Begin a response, as the session says or the client has `stated` for it. Raises Failure."""
        if self._session["type"] != "realtime":
            raise Failure("bad_parameter", _NO_RESPONSES, code="invalid_event", param="type")
        converses = stated.get("conversation") != "none"
        if converses and self._active is not None:
            named = f": {self._active.id}" if self._active.id else ""
            message = f"Conversation already has an active response in progress{named}. {_WAIT}"
            raise Failure("bad_parameter", message, code="conversation_already_has_active_response")
        if len(self._turns) >= MAX_AT_ONCE:
            message = f"This session has {MAX_AT_ONCE} responses in progress already. {_WAIT}"
            raise Failure("bad_parameter", message, code="too_many_active_responses")
        items = [*self._conversation]
        if (given := stated.get("input")) is not None:
            items = self._conversation.select(given, self._input.sound)
        body = self._write_turn(stated, items)
        write = partial(write_frame, body, items)
        left = asyncio.Event()
        socket_turn = SocketTurn(SocketAnswers(), write_frame=write, upstream=self._upstream)
        visit = self.open_turn(to_json(body), socket_turn, left)
        turn = ResponseTurn(visit, body, sound=FORMATS[body["audio"]["output"]["format"]["type"]], left=left)
        self._turns.add(turn)
        if converses:
            self._active = turn
        self.start_task(self._run(turn))

    def _write_turn(self, stated: Body, items: Sequence[ConversationItem]) -> dict[str, Json]:
        """Return the body of a turn's request: the settings of session and client for a response, and the items."""
        session = self._session
        own = {key: value for key, value in stated.items() if value is not None and key not in ("input", "audio")}
        repeated = {key: session[key] for key in _RESPONSE_KEYS if session.get(key) not in (None, "", [])}
        output = read_output(session, (stated.get("audio") or {}).get("output") or {})
        return {
            "model": session["model"],
            **repeated,
            **own,
            "audio": {"output": output},
            "conversation_id": self._conversation_id,
            "input": [item.write() for item in items],
        }

    async def _run(self, turn: ResponseTurn) -> None:
        """Answer a turn to its end, whatever happens."""
        sender = TurnSender(partial(self._pass_on, turn))
        try:
            await self.answer(self._respond(turn, sender), turn.visit, sender)
            if not turn.is_over and turn.reason is None and not self.is_over:  # a fault has cut it short
                await self.close(CUT_SHORT)
        except Exception:  # a bug of mockserver: nobody is to wait for what never comes
            self.log_bug()
            await self.close(FAILED)
        finally:
            self._forget(turn)

    def _forget(self, turn: ResponseTurn) -> None:
        self._turns.discard(turn)
        if self._active is turn:
            self._active = None

    async def _respond(self, turn: ResponseTurn, sender: TurnSender) -> Response:
        """Return the response to a turn; one that is refused is a stream of events, too."""
        response = await self.responder.respond(turn.visit)
        reply = response.reply
        if response.forwarded is None and reply.status >= 400 and not is_stream(response):
            name = (
                f"resp_{self._engine.policy.seed.draw_alnum(21, 'failed response', self._name, str(self._name_item()))}"
            )
            events = make_failed_events(reply, name, turn.body)
            response.reply = replace(
                reply, headers=HeaderLines(STREAM_LINES), body=b"", frames=events, pieces=None, tokens=0
            )
        response = fit_to_socket(response, turn.visit)
        sender.expect(response)
        return response

    async def _pass_on(self, turn: ResponseTurn, data: bytes, event: Event | None) -> None:
        """Send an event of a response, and take note of it; one that is broken is sent as it is."""
        if turn.is_over or (turn.reason is not None and turn.response is not None):
            return
        if event is None:
            if find_type(data) in LAST_TYPES:
                turn.is_over = True
                self._forget(turn)
            await self._send_text(data)
            return
        turn.follow(event)
        kind = event.get("type")
        begun = event.get("response")
        if turn.converses and isinstance(begun, dict) and begun.get("conversation_id", "") is None:
            begun["conversation_id"] = self._conversation_id  # the provider's response was out of band
            data = to_json(event)
        if turn.is_over:
            self._forget(turn)
            self._conversation.forget_sound()
        await self._send_with_item(turn, data, event)
        if kind == "response.created" and turn.reason is not None:  # it was cancelled before it began
            await self._end_cancelled(turn)
        elif kind == "response.done":
            if turn.converses:
                self._input.note_answer(turn.sound.measure(turn.spoken))
            await self._tell_limits(event["response"])

    async def _send_with_item(self, turn: ResponseTurn, data: bytes, event: Event) -> None:
        """Send an event, after or before the one that tells of its item as a part of the conversation."""
        kind = event.get("type")
        item = event.get("item")
        if not turn.converses or not isinstance(item, dict):
            await self._send_event(data, event)
            return
        if kind == "response.output_item.done":
            previous = self._conversation.find_previous(item["id"])
            await self._say("conversation.item.done", previous_item_id=previous, item=item)
        await self._send_event(data, event)
        if kind == "response.output_item.added":
            previous = self._place(turn, item)
            await self._say("conversation.item.added", previous_item_id=previous, item=item)

    def _place(self, turn: ResponseTurn, item: Body) -> str | None:
        """Put an item of a response into the conversation, once; return which one it comes after."""
        if self._conversation.get(item["id"]) is None and turn.open is not None:
            self._conversation.has_spoken = self._conversation.has_spoken or item["type"] == "message"
            return self._conversation.add(turn.open.item)
        return self._conversation.find_previous(item["id"])

    async def _cancel(self, turn: ResponseTurn, reason: str) -> None:
        """End a response where it is; one that has not begun ends as soon as it does."""
        turn.reason = reason
        if turn.response is not None:
            await self._end_cancelled(turn)

    async def _end_cancelled(self, turn: ResponseTurn) -> None:
        closing = [*turn.list_closing_events()]
        turn.is_over = True
        turn.left.set()
        self._forget(turn)
        for event in closing:
            await self._send_with_item(turn, b"", event)
        await self._tell_limits(closing[-1]["response"])

    async def _tell_limits(self, response: Body) -> None:
        used = (response.get("usage") or {}).get("total_tokens") or 0
        left = max(TOKENS_PER_MINUTE - used, 0)
        reset = round((TOKENS_PER_MINUTE - left) * 60 / TOKENS_PER_MINUTE, 3)
        limit = {"name": "tokens", "limit": TOKENS_PER_MINUTE, "remaining": left, "reset_seconds": reset}
        await self._say("rate_limits.updated", rate_limits=[limit])

    # Events of the server

    def _name_item(self) -> str:
        self._named += 1
        return f"item_{self._engine.policy.seed.draw_alnum(21, 'realtime item', self._name, str(self._named))}"

    def _name_event(self) -> str:
        self._events += 1
        return f"event_{self._engine.policy.seed.draw_alnum(21, 'realtime event', self._name, str(self._events))}"

    async def _say(self, type: str, **fields: Json) -> None:
        await self._send_text(to_json({"type": type, "event_id": self._name_event(), **fields}))

    async def _send_event(self, data: bytes, event: Event) -> None:
        """Send an event of a stream with an id."""
        begun = b'{"type":%b,' % to_json(event.get("type"))
        if "event_id" in event:  # it was recorded, or comes from the provider
            await self._send_text(data)
        elif data.startswith(begun):
            await self._send_text(b'%b"event_id":"%b",%b' % (begun, self._name_event().encode(), data[len(begun) :]))
        else:
            await self._send_text(to_json({"type": event.get("type"), "event_id": self._name_event(), **event}))

    async def _send_text(self, data: bytes) -> None:
        await self.send_noted(data, is_text=True)

    async def _complain(self, error: Mapping[str, Json], event_id: str | None) -> None:
        await self._say("error", error={**error, "event_id": event_id})

    def _make_error(self, failure: Failure) -> dict[str, Json]:
        """Return the error of a failure in the words of the provider."""
        return read_error(self.responder.dialect.fail(self.handshake, failure, None))


_ACTS: Mapping[str, Callable[[RealtimeSession, Body], Awaitable[None]]] = {
    "session.update": RealtimeSession._update,
    "input_audio_buffer.append": RealtimeSession._append,
    "input_audio_buffer.commit": RealtimeSession._commit,
    "input_audio_buffer.clear": RealtimeSession._clear,
    "conversation.item.create": RealtimeSession._create_item,
    "conversation.item.retrieve": RealtimeSession._retrieve_item,
    "conversation.item.truncate": RealtimeSession._truncate_item,
    "conversation.item.delete": RealtimeSession._delete_item,
    "response.create": RealtimeSession._create_response,
    "response.cancel": RealtimeSession._cancel_response,
}


def write_frame(body: Body, items: Sequence[ConversationItem]) -> bytes:
    """Return a turn as the provider takes it: a response out of band, which sees the items."""
    output = {key: value for key, value in body["audio"]["output"].items() if key != "speed"}
    stated = {key: value for key, value in body.items() if key not in ("model", "conversation_id")}
    seen = [item.write_for_provider() for item in items if item.body["type"] != LISTED]  # it asks its servers itself
    response = {**stated, "audio": {"output": output}, "conversation": "none", "input": seen}
    return to_json({"type": "response.create", "response": response})


def read_browser_key(handshake: HttpRequest, offered: list[str]) -> HttpRequest:
    """Return a handshake with the key that a browser sends as a subprotocol, as it can send no header."""
    key = next((each.removeprefix(BROWSER_KEY) for each in offered if each.startswith(BROWSER_KEY)), None)
    return handshake if key is None else _put_key(handshake, key)


def _put_key(handshake: HttpRequest, key: str) -> HttpRequest:
    kept = [field for field in handshake.headers if field[0] != b"authorization"]
    headers = (*kept, (b"authorization", f"Bearer {key}".encode("latin-1", "replace"))) if key else (*kept,)
    return replace(handshake, headers=headers)


def _refuse(code: str, message: str) -> Failure:
    return Failure("bad_parameter", message, code=code)


_RESPONSE_KEYS = (
    "output_modalities", "instructions", "tools", "tool_choice", "max_output_tokens", "parallel_tool_calls",
    "reasoning", "prompt",
)  # fmt: skip
_KEEPING = ("input_audio_buffer.append", "conversation.item.create")  # what adds to the memory of a session
_LONGEST_ID = 512  # characters of the id of a client's event
_NO_BINARY = "Send events as text frames, not as binary ones."
_NO_BETA = "The Realtime Beta API is no longer supported. Please use /v1/realtime for the GA API."
_NO_NAME = "You must provide a model parameter, for example wss://api.openai.com/v1/realtime?model=gpt-realtime."
_NO_RESPONSES = "A transcription session has no responses."
_WAIT = "Wait until the response is finished before creating a new one."
_NOT_HEARD = "This recording cannot be transcribed."
