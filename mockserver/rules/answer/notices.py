"""Compiles what MCP clients are told or asked while they wait for an answer: progress, log lines and questions."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from mockserver.core.draft import Draft, DraftChoice, RenderContext
from mockserver.core.json import Json
from mockserver.core.mcp_server import McpExtras, McpNotice, McpQuestion, McpRequest
from mockserver.core.plan import TOOL_ERROR, Text
from mockserver.rules.mcp_definitions import make_schema
from mockserver.rules.schema import LogSpec, ProgressSpec, QuestionSpec, ThenSpec
from mockserver.rules.templates import CompileContext, Compiled, combine, compile_json, gather, make_constant

Spec = TypeVar("Spec")


def compile_notices(then: ThenSpec, context: CompileContext) -> Compiled[tuple[McpNotice, ...]]:
    """Compile the progress and the log lines of an answer."""
    return gather(_compile_notices(then, context))


def _compile_notices(then: ThenSpec, context: CompileContext) -> Iterator[Compiled[McpNotice]]:
    for number, (progress, here) in enumerate(_list(then.progress, context.at("progress")), start=1):
        yield _compile_progress(progress, number, here)
    if isinstance(then.log, str):
        yield _compile_log(LogSpec(data=then.log), context.at("log"))
    else:
        for line, here in _list(then.log, context.at("log")):
            yield _compile_log(line, here.at("data"))


def _list(stated: Spec | list[Spec] | None, context: CompileContext) -> Iterator[tuple[Spec, CompileContext]]:
    """Yield each of what is stated, one or a list, with its place."""
    if isinstance(stated, list):
        for at, each in enumerate(stated):
            yield each, context.at(at)
    elif stated is not None:
        yield stated, context


def _compile_progress(progress: ProgressSpec, number: int, context: CompileContext) -> Compiled[McpNotice]:
    done = float(number) if progress.done is None else progress.done
    fixed: dict[str, Json] = {"progress": _shorten(done)}
    if progress.of is not None:
        fixed["total"] = _shorten(progress.of)
    if progress.message is None:
        return make_constant(McpNotice("progress", fixed, progress.at))
    message = context.at("message").compile_text(progress.message)
    return message.map(lambda text: McpNotice("progress", {**fixed, "message": text}, progress.at))


def _shorten(number: float) -> float:
    return int(number) if number.is_integer() else number


def _compile_log(line: LogSpec, context: CompileContext) -> Compiled[McpNotice]:
    """Compile a log line, whose data is at this place."""
    fixed: dict[str, Json] = {"level": line.level, **({} if line.logger is None else {"logger": line.logger})}
    data: Compiled[Json] = compile_json(line.data, context)
    return data.map(lambda value: McpNotice("message", {**fixed, "data": value}, line.at))


def compile_questions(then: ThenSpec, context: CompileContext) -> Compiled[tuple[McpQuestion, ...]]:
    """Compile what is asked before an answer."""
    names: set[str] = set()
    compiled: list[Compiled[McpQuestion]] = []
    for at, (question, here) in enumerate(_list(then.ask, context.at("ask")), start=1):
        name = question.name or ("question" if at == 1 else f"question_{at}")
        if name in names:
            here.refuse(f'there are two questions "{name}"; give each its own name')
        names.add(name)
        compiled.append(_compile_question(name, question, here))
    return gather(compiled)


def _compile_question(name: str, question: QuestionSpec, context: CompileContext) -> Compiled[McpQuestion]:
    ways = [way for way in ("user", "model", "roots") if getattr(question, way) is not None]
    if len(ways) != 1:
        context.refuse("a question needs one of user, model and roots")
        return make_constant(McpQuestion(name, "roots/list", params={}, needs="roots"))
    if question.roots:
        return make_constant(McpQuestion(name, "roots/list", params={}, needs="roots"))
    if question.model is not None:
        return _compile_prompt(name, question, context)
    fixed: dict[str, Json] = {}
    if question.url is not None:
        if question.schema_ is not None:
            context.at("schema").refuse_key('use "url" or "schema", not both')
        fixed = {"mode": "url", "url": question.url, "elicitationId": name}
    else:
        fixed = {"requestedSchema": make_schema(question.schema_ or {}, (), context.at("schema").add)}
    message = context.at("user").compile_text(question.user or "")
    return message.map(
        lambda text: McpQuestion(name, "elicitation/create", params={"message": text, **fixed}, needs="elicitation")
    )


def _compile_prompt(name: str, question: QuestionSpec, context: CompileContext) -> Compiled[McpQuestion]:
    def ask(prompt: str, system: str | None) -> McpQuestion:
        messages: Json = [{"role": "user", "content": {"type": "text", "text": prompt}}]
        more = {} if system is None else {"systemPrompt": system}
        params = {"messages": messages, **more, "maxTokens": question.max_tokens}
        return McpQuestion(name, "sampling/createMessage", params=params, needs="sampling")

    prompt = context.at("model").compile_text(question.model or "")
    if question.system is None:
        return prompt.map(lambda text: ask(text, None))
    return combine(prompt, context.at("system").compile_text(question.system), ask)


def add_notices(then: ThenSpec, context: CompileContext, draft: Compiled[Draft]) -> Compiled[Draft]:
    """Return the draft with what is told before it; while its questions have no replies, one that asks them."""
    notices = compile_notices(then, context)
    told = combine(draft, notices, lambda made, found: replace(made, mcp=McpExtras(found)) if found else made)
    if then.ask is None:
        return told
    questions = compile_questions(then, context)

    def make(scope: RenderContext) -> Draft:
        request = scope.call.mcp
        asked = questions.make(scope)
        if request is None or not request.replies.keys() >= {question.name for question in asked}:
            extras = McpExtras(notices.make(scope), asked)
            return Draft((DraftChoice(()),), mcp=extras)
        if request.client_action != "accept":
            return _explain_refusal(request)
        return told.make(scope)

    return Compiled(make)


def _explain_refusal(request: McpRequest) -> Draft:
    """Return the failed result of a call whose question was not answered."""
    error = next((reply["error"] for reply in request.replies.values() if "error" in reply), None)
    why = str(error.get("message", "")) if isinstance(error, Mapping) else ""
    text = f"The client cannot answer: {why}" if error is not None else f"The user chose to {request.client_action}."
    return Draft((DraftChoice((Text(text),), finish=TOOL_ERROR),))
