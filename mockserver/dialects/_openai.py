"""The operations that OpenAI and Azure OpenAI have in common: chat, completions, Responses and embeddings."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._chat import ChatParser, chat_live_only
from mockserver.dialects._chat_replay import CHAT_HISTORY
from mockserver.dialects._completions import completion_options, parse_completion
from mockserver.dialects._embeddings import embeddings_reply, parse_embeddings
from mockserver.dialects._errors import refuse
from mockserver.dialects._objects import object_operations
from mockserver.dialects._objects.references import refer_to_kept
from mockserver.dialects._objects.resource import ObjectsApi
from mockserver.dialects._realtime.connections import ConnectionsApi
from mockserver.dialects._realtime.turns import RealtimeApi
from mockserver.dialects._reply import RequestLines, answer_reply, request_hex
from mockserver.dialects._responses import (
    RESPONSE_LAYOUT,
    error_event,
    parse_openai_responses,
    responses_reply,
)
from mockserver.dialects._responses_replay import RESPONSES_HISTORY
from mockserver.dialects._stored import StoredResponses, stored_chats
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatRenderer, make_completion
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.text import TextRenderer

RESPONSES = ResponseRenderer(RESPONSE_LAYOUT)


class OpenAIApi(Struct, frozen=True, dict=True):
    """Builds the operations of one of the two, or of a look-alike.

    `elsewhere` returns the fields of a chat, a completion or an embedding that are in its path. `lines` are the header
    lines of every reply; `rate_limits` returns those for a prompt with this many tokens. `fail` words the failures of
    calls about kept objects; without it, there are none.
    """

    dialect: str
    chat: ChatRenderer
    text: TextRenderer
    lines: RequestLines
    rate_limits: Callable[[int], str]
    elsewhere: Callable[[HttpRequest], Mapping[str, Json]] | None = None
    fail: Callable[[HttpRequest, Failure, Call | None], Reply] | None = None

    def inference_operations(self) -> tuple[Operation, ...]:
        return (
            Operation(
                *("chat", "POST", "/chat/completions", self._parse_chat, self._render_chat),
                history=CHAT_HISTORY,
            ),
            Operation(
                *("completions", "POST", "/completions", self._parse_completion, self._render_completion),
            ),
            Operation(
                *("embeddings", "POST", "/embeddings", self._parse_embeddings, self._render_embeddings),
            ),
        )

    def responses_operation(self) -> Operation:
        return Operation(
            *("responses", "POST", "/responses", self._parse_responses, self._render_responses),
            over_socket="responses",
            shows_reasoning=True,
            error=error_event,
            history=RESPONSES_HISTORY,
        )

    def realtime_operations(self) -> tuple[Operation, ...]:
        turns, connections = RealtimeApi(self.dialect, self.lines), ConnectionsApi(self.dialect, self.lines)
        return (turns.turn_operation(), *connections.operations())

    def account_operations(self) -> tuple[Operation, ...]:
        lines = self._write_own_lines
        return (
            *StoredResponses(
                self.dialect, refuse, renderer=RESPONSES, lines=lines, take=self._parse_input
            ).operations(),
            *stored_chats(
                self.dialect,
                lambda call, answer: make_completion(answer, self.chat.layout, call.options.service_tier),
                lines,
                refuse,
            ),
        )

    def _write_own_lines(self, call: Call) -> str:
        return self.lines(call.http, call)

    def object_operations(self, answering: Sequence[Operation]) -> tuple[Operation, ...]:
        """Return the operations on kept objects; batches hold calls of those that are `answering`."""
        return () if self.objects is None else object_operations(replace(self.objects, operations=answering))

    @lazy_property
    def objects(self) -> ObjectsApi | None:
        """Return what its kept objects need to know of it, if it has any."""
        return None if self.fail is None else ObjectsApi(dialect=self.dialect, lines=self.lines, fail=self.fail)

    @lazy_property
    def chats(self) -> ChatParser:
        return ChatParser(self.dialect, refuse, live_only=chat_live_only, elsewhere=self.elsewhere)

    def _parse_chat(self, http: HttpRequest, validation: Validation) -> Call:
        return self._refer(self.chats.parse(http, validation))

    def _refer(self, call: Call) -> Call:
        return call if self.objects is None else refer_to_kept(call, self.objects)

    def _render_chat(self, call: Call, outcome: Answer) -> Reply:
        lines = self.lines(call.http, call) + self.rate_limits(outcome.usage.prompt)
        return answer_reply(outcome, self.chat, call.options, lines, stream=call.stream)

    def _read_elsewhere(self, http: HttpRequest) -> Mapping[str, Json]:
        return {} if self.elsewhere is None else self.elsewhere(http)

    def _parse_completion(self, http: HttpRequest, validation: Validation) -> Call:
        return parse_completion(http, self.dialect, self._read_elsewhere(http), validation=validation)

    def _render_completion(self, call: Call, outcome: Answer) -> Reply:
        lines = self.lines(call.http, call) + self.rate_limits(outcome.usage.prompt)
        return answer_reply(outcome, self.text, completion_options(call), lines, stream=call.stream)

    def _parse_responses(self, http: HttpRequest, validation: Validation) -> Call:
        return self._refer(parse_openai_responses(http, self.dialect, validation=validation))

    def _parse_input(self, http: HttpRequest, validation: Validation) -> Call:
        return parse_openai_responses(http, self.dialect, validation=validation, only_input=True)

    def _render_responses(self, call: Call, outcome: Answer) -> Reply:
        lines = self.lines(call.http, call) + self.rate_limits(outcome.usage.prompt)
        return responses_reply(call, outcome, renderer=RESPONSES, lines=lines)

    def _parse_embeddings(self, http: HttpRequest, validation: Validation) -> Call:
        return parse_embeddings(http, self.dialect, self._read_elsewhere(http), validation=validation)

    def _render_embeddings(self, call: Call, outcome: Embeddings) -> Reply:
        lines = self.lines(call.http, call) + self.rate_limits(outcome.prompt_tokens)
        is_mistral = "mistral" in (call.http.header("user-agent") or "").lower()
        identity = request_hex(call.http, call) if is_mistral else ""  # its clients require one; OpenAI sends none
        return embeddings_reply(outcome, call.raw.get("encoding_format"), lines=lines, identity=identity)


# Endpoints that these providers have and mockserver does not, with the `then` of a rule that answers each.
MISSING: Mapping[str, str] = {
    **dict.fromkeys(("/videos", "/assistants", "/threads"), "{json: {}}"),
    **dict.fromkeys(("/chatkit", "/organization", "/projects"), "{json: {}}"),
}
