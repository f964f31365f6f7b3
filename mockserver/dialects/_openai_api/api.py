"""The operations that OpenAI, Azure OpenAI and their look-alikes have in common: a dialect says what differs."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._openai_api.chat import ChatParser, find_live_chat_mistakes
from mockserver.dialects._openai_api.completions import make_completion_options, parse_completion
from mockserver.dialects._openai_api.embeddings import make_embeddings_reply, parse_embeddings
from mockserver.dialects._openai_api.replay import CHAT_HISTORY, RESPONSES_HISTORY
from mockserver.dialects._openai_api.responses import (
    RESPONSE_LAYOUT,
    make_error_event,
    make_responses_reply,
    parse_openai_responses,
)
from mockserver.dialects._openai_api.stored import StoredResponses, make_stored_chat_operations
from mockserver.dialects._parse import Parse
from mockserver.dialects._reply import RequestLines, answer_reply, make_request_hex
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatRenderer
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.text import TextRenderer

RESPONSES = ResponseRenderer(RESPONSE_LAYOUT)


class OpenAIApi(Struct, frozen=True):
    """Makes the operations of a dialect, whose replies have these header `lines`.

    `elsewhere` returns the fields of a chat, a completion or an embedding that are in its path. `rate_limits` returns
    the header lines about limits, for a prompt with this many tokens. `refer` returns the call of a chat or a response
    together with the kept objects that it names.
    """

    dialect: str
    chat: ChatRenderer
    text: TextRenderer
    lines: RequestLines
    rate_limits: Callable[[int], str] = lambda tokens: ""
    elsewhere: Callable[[HttpRequest], Mapping[str, Json]] = lambda http: {}
    refer: Callable[[Call], Call] | None = None

    def make_inference_operations(self) -> tuple[Operation, ...]:
        return (self._make_chat_operation(), self._make_completion_operation(), self._make_embedding_operation())

    def _make_chat_operation(self) -> Operation:
        parser = ChatParser(self.dialect, refuse, live_only=find_live_chat_mistakes, elsewhere=self.elsewhere)

        def render(call: Call, outcome: Answer) -> Reply:
            return answer_reply(outcome, self.chat, call.options, self._answer_lines(call, outcome), stream=call.stream)

        parse = self._refer_after(parser.parse)
        return Operation("chat", "POST", "/chat/completions", parse=parse, render=render, history=CHAT_HISTORY)

    def _make_completion_operation(self) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            return parse_completion(http, self.dialect, self.elsewhere(http), validation=validation)

        def render(call: Call, outcome: Answer) -> Reply:
            options = make_completion_options(call)
            lines = self._answer_lines(call, outcome)
            return answer_reply(outcome, self.text, options, lines, stream=call.stream)

        return Operation("completions", "POST", "/completions", parse=parse, render=render)

    def _make_embedding_operation(self) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            return parse_embeddings(http, self.dialect, self.elsewhere(http), validation=validation)

        def render(call: Call, outcome: Embeddings) -> Reply:
            lines = self.lines(call.http, call) + self.rate_limits(outcome.prompt_tokens)
            is_mistral = "mistral" in (call.http.find_header("user-agent") or "").lower()
            identity = (
                make_request_hex(call.http, call) if is_mistral else ""
            )  # its clients require one; OpenAI sends none
            return make_embeddings_reply(outcome, call.raw.get("encoding_format"), lines=lines, identity=identity)

        return Operation("embeddings", "POST", "/embeddings", parse=parse, render=render)

    def make_responses_operation(self) -> Operation:
        def render(call: Call, outcome: Answer) -> Reply:
            return make_responses_reply(call, outcome, renderer=RESPONSES, lines=self._answer_lines(call, outcome))

        return Operation(
            "responses",
            "POST",
            "/responses",
            parse=self._refer_after(partial(parse_openai_responses, dialect=self.dialect)),
            render=render,
            over_socket="responses",
            shows_reasoning=True,
            error=make_error_event,
            history=RESPONSES_HISTORY,
        )

    def make_stored_operations(self) -> tuple[Operation, ...]:
        """Return the operations on stored chats and responses."""

        def complete(call: Call, answer: Answer) -> dict[str, Any]:
            return self.chat.render_body(answer, call.options)

        take = partial(parse_openai_responses, dialect=self.dialect, only_input=True)
        responses = StoredResponses(self.dialect, refuse, renderer=RESPONSES, lines=self.lines, take=take)
        return (*responses.make_operations(), *make_stored_chat_operations(self.dialect, complete, self.lines, refuse))

    def _answer_lines(self, call: Call, answer: Answer) -> str:
        return self.lines(call.http, call) + self.rate_limits(answer.usage.prompt)

    def _refer_after(self, parse: Parse) -> Parse:
        refer = self.refer
        if refer is None:
            return parse
        return lambda http, validation: refer(parse(http, validation))


# Endpoints that these providers have and mockserver does not, with the `then` of a rule that answers each.
MISSING: Mapping[str, str] = {
    **dict.fromkeys(("/videos", "/assistants", "/threads"), "{json: {}}"),
    **dict.fromkeys(("/chatkit", "/organization", "/projects"), "{json: {}}"),
}
