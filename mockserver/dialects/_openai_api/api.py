"""The operations that OpenAI, Azure OpenAI and their look-alikes have in common: a dialect says what differs."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._openai_api.chat import ChatParser, FindMistakes, find_live_chat_mistakes
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
from mockserver.dialects._reply import RequestLines, make_answer_reply, make_request_hex
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatRenderer
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.text import TextRenderer

RESPONSES = ResponseRenderer(RESPONSE_LAYOUT)


class OpenAIApi(Struct, frozen=True):
    """Makes the operations of a dialect, whose replies have these header `lines`.

    `read_url_fields` returns the fields of a chat, a completion or an embedding that its path has. `rate_limits`
    returns the header lines about limits, for a prompt with this many tokens. `find_live_mistakes` is that of the
    ChatParser. `refer` returns the call of a chat or a response together with the kept objects that it names, and
    `refuse_model` the failure of a chat, a completion or an embedding whose model is not for that, if it is known.
    """

    dialect: str
    chat: ChatRenderer
    text: TextRenderer
    lines: RequestLines
    rate_limits: Callable[[int], str] = lambda tokens: ""
    read_url_fields: Callable[[HttpRequest], Mapping[str, Json]] = lambda http: {}
    find_live_mistakes: FindMistakes = find_live_chat_mistakes
    refer: Callable[[Call], Call] | None = None
    refuse_model: Callable[[Call], Failure | None] | None = None

    def make_inference_operations(self) -> tuple[Operation, ...]:
        """Return the operations on chats, completions and embeddings."""
        return (self._make_chat_operation(), self._make_completion_operation(), self._make_embedding_operation())

    def _make_chat_operation(self) -> Operation:
        parser = ChatParser(
            self.dialect, refuse, find_live_mistakes=self.find_live_mistakes, read_url_fields=self.read_url_fields
        )

        def render(call: Call, outcome: Answer) -> Reply:
            return make_answer_reply(
                outcome, self.chat, call.options, self._write_answer_lines(call, outcome), stream=call.stream
            )

        parse = self._refer_after(self._check_model_after(parser.parse))
        return Operation("chat", "POST", "/chat/completions", parse=parse, render=render, history=CHAT_HISTORY)

    def _make_completion_operation(self) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            return parse_completion(http, self.dialect, self.read_url_fields(http), validation=validation)

        def render(call: Call, outcome: Answer) -> Reply:
            options = make_completion_options(call)
            lines = self._write_answer_lines(call, outcome)
            return make_answer_reply(outcome, self.text, options, lines, stream=call.stream)

        return Operation("completions", "POST", "/completions", parse=self._check_model_after(parse), render=render)

    def _make_embedding_operation(self) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            return parse_embeddings(http, self.dialect, self.read_url_fields(http), validation=validation)

        def render(call: Call, outcome: Embeddings) -> Reply:
            lines = self.lines(call.http, call) + self.rate_limits(outcome.prompt_tokens)
            is_mistral = "mistral" in (call.http.find_header("user-agent") or "").lower()
            # Mistral's clients require one; OpenAI sends none.
            identity = make_request_hex(call.http, call) if is_mistral else ""
            return make_embeddings_reply(outcome, call.raw.get("encoding_format"), lines=lines, identity=identity)

        return Operation("embeddings", "POST", "/embeddings", parse=self._check_model_after(parse), render=render)

    def make_responses_operation(self) -> Operation:
        """Return the operation that creates a response."""

        def render(call: Call, outcome: Answer) -> Reply:
            return make_responses_reply(
                call, outcome, renderer=RESPONSES, lines=self._write_answer_lines(call, outcome)
            )

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

        responses = StoredResponses(
            self.dialect,
            refuse,
            renderer=RESPONSES,
            lines=self.lines,
            parse_input=partial(parse_openai_responses, dialect=self.dialect, only_input=True),
        )
        chats = make_stored_chat_operations(self.dialect, completion=complete, lines=self.lines, refuse=refuse)
        return (*responses.make_operations(), *chats)

    def _write_answer_lines(self, call: Call, answer: Answer) -> str:
        return self.lines(call.http, call) + self.rate_limits(answer.usage.prompt)

    def _check_model_after(self, parse: Parse) -> Parse:
        refuse_model = self.refuse_model
        if refuse_model is None:
            return parse

        def check_model(http: HttpRequest, validation: Validation) -> Call:
            call = parse(http, validation)
            if validation is Validation.LIVE and (failure := refuse_model(call)) is not None:
                raise failure
            return call

        return check_model

    def _refer_after(self, parse: Parse) -> Parse:
        refer = self.refer
        if refer is None:
            return parse
        return lambda http, validation: refer(parse(http, validation))


# Endpoints that these providers have and mockserver does not, with the `then` of a rule that answers each.
MISSING: Mapping[str, str] = {
    **dict.fromkeys(("/chatkit/threads", "/agents", "/vaults"), "{json: {}}"),
    **dict.fromkeys(("/live", "/decisions", "/content_provenance_checks", "/safety"), "{json: {}}"),
    **dict.fromkeys(("/organization", "/projects"), "{json: {}}"),
}
