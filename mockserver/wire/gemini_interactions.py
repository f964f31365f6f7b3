"""Gemini's interactions: an Answer as steps, or as the events that make them (https://ai.google.dev/api/interactions)."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json, find_in
from mockserver.core.plan import Answer, Item, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.core.seal import claim
from mockserver.wire.gemini import SIGNATURE
from mockserver.wire.parts import has_object, list_pieces, read_arguments, wrap_arguments, write_moment
from mockserver.wire.renderer import Outline, Renderer

Body = dict[str, Json]
IN_PROGRESS = "in_progress"


class InteractionOptions(Struct, frozen=True):
    """What the request contributes: who answers (`model` or `agent`), what came before, and how much is shown.

    `thoughts`: thoughts are summarized. `waits`: a background interaction is looked up later, and has no steps yet.
    """

    by: str = "model"
    name: str = ""
    previous: str | None = None
    thoughts: bool = False
    waits: bool = False


class InteractionRenderer(Renderer[InteractionOptions]):
    """Renders interactions."""

    def render_body(self, answer: Answer, options: InteractionOptions) -> Body:
        head = _make_head(answer, options)
        if options.waits:
            return {**head, "status": IN_PROGRESS, "steps": []}
        steps = [step.write() for step in _list_steps(answer, options)]
        return {**head, "status": find_status(answer), "steps": steps, "usage": _make_usage(answer)}

    def render_frames(self, answer: Answer, options: InteractionOptions) -> Iterator[Frame]:
        yield from _begin(answer, options)
        for index, step in enumerate(_list_steps(answer, options)):
            yield _make_event("step.start", {"index": index, "step": step.begun})
            for delta, weight in step.list_deltas():
                part = "arguments" if delta["type"] == "arguments_delta" else "text"
                yield _make_event("step.delta", {"index": index, "delta": delta}, tokens=weight, part=part)
            yield _make_event("step.stop", {"index": index})
        yield from _end(answer, options)

    def outline(self, answer: Answer, options: InteractionOptions) -> Outline | None:
        return None  # these answers are too rare for templates


def make_media_body(answer: Answer, options: InteractionOptions, content: Sequence[Body]) -> Body:
    """Return an interaction whose output is this content; `answer` has its id and usage."""
    step = {"type": "model_output", "content": [*content]}
    return {**_make_head(answer, options), "status": "completed", "steps": [step], "usage": _make_usage(answer)}


def stream_media(answer: Answer, options: InteractionOptions, content: Sequence[Body]) -> Iterator[Frame]:
    """Yield the events of an interaction whose output is this content."""
    yield from _begin(answer, options)
    yield _make_event("step.start", {"index": 0, "step": {"type": "model_output", "content": []}})
    for each in content:
        yield _make_event("step.delta", {"index": 0, "delta": each}, tokens=1)
    yield _make_event("step.stop", {"index": 0})
    yield from _end(answer, options)


def _begin(answer: Answer, options: InteractionOptions) -> Iterator[Frame]:
    begun = {**_make_head(answer, options), "status": IN_PROGRESS}
    yield _make_event("interaction.created", {"interaction": begun}, part="open")
    yield _make_event("interaction.status_update", {"interaction_id": answer.id, "status": IN_PROGRESS})


def _end(answer: Answer, options: InteractionOptions) -> Iterator[Frame]:
    if answer.broken is not None:
        error = {"code": answer.broken.code, "message": answer.broken.message}
        yield _make_event("error", {"error": error}, part="finish")
    else:
        done = {**_make_head(answer, options), "status": find_status(answer), "usage": _make_usage(answer)}
        yield _make_event("interaction.completed", {"interaction": done}, part="finish")
    yield Frame(b"[DONE]", event="done", part="end")


def find_status(answer: Answer) -> str:
    """Return the status in which an interaction ends: if functions are called, they are to be answered."""
    if answer.broken is not None:
        return "failed"
    finish = answer.choices[0].finish if answer.choices else "stop"
    if finish == "tool_calls":
        return "requires_action"
    return "incomplete" if finish in ("length", "MAX_TOKENS") else "completed"


class _Step(Struct, frozen=True):
    """A step of an interaction: as it begins, and its deltas, each with its tokens. `join(begun)` has all of them."""

    begun: Body
    list_deltas: Callable[[], Iterator[tuple[Body, int]]]
    added: Body

    def write(self) -> Body:
        """Return the whole step."""
        return {**self.begun, **self.added}


def _list_steps(answer: Answer, options: InteractionOptions) -> Iterator[_Step]:
    """Yield the steps of an answer: texts in a row are one output."""
    spoken = list[Text | Refusal]()
    for index, part in enumerate(answer.choices[0].parts if answer.choices else ()):
        if isinstance(part, Text | Refusal):
            spoken.append(part)
            continue
        if spoken:
            yield _speak(spoken, answer)
            spoken = []
        yield from _make_steps(part, index, answer=answer, options=options)
    if spoken:
        yield _speak(spoken, answer)


def _speak(parts: list[Text | Refusal], answer: Answer) -> _Step:
    notes = [_make_citation(note) for part in parts if isinstance(part, Text) for note in part.annotations]
    text: Body = {"type": "text", "text": "".join([part.text for part in parts])}
    content = [{**text, "annotations": notes} if notes else text]

    def list_deltas() -> Iterator[tuple[Body, int]]:
        for part in parts:
            for piece, weight in list_pieces(part, answer.tokenizer):
                yield {"type": "text", "text": piece}, weight
        if notes:
            yield {"type": "text_annotation_delta", "annotations": notes}, 0

    return _Step({"type": "model_output", "content": []}, list_deltas, {"content": content})


def _make_steps(part: Part, index: int, *, answer: Answer, options: InteractionOptions) -> Iterator[_Step]:
    match part:
        case Reasoning():
            yield _think(part, index, answer=answer, shows_summary=options.thoughts)
        case ToolUse():
            yield _call(part, answer)
        case Item(kind="web_search_call"):
            queries = find_in(part.body, "action", "queries")
            name = f"{answer.id}_{index}"
            yield _make_whole({"type": "google_search_call", "id": name, "arguments": {"queries": queries or []}})
            yield _make_whole({"type": "google_search_result", "call_id": name, "result": []})
        case Item(kind="code_interpreter_call"):
            name = f"{answer.id}_{index}"
            code = {"language": "python", "code": part.body.get("code") or ""}
            printed = [str(each.get("logs") or "") for each in part.body.get("outputs") or () if isinstance(each, dict)]
            yield _make_whole({"type": "code_execution_call", "id": name, "arguments": code})
            failed = part.body.get("status") == "failed"
            ended: Body = {"call_id": name, "result": "".join(printed), "is_error": failed}
            yield _make_whole({"type": "code_execution_result", **ended})
        case _:
            return


def _think(part: Reasoning, index: int, *, answer: Answer, shows_summary: bool) -> _Step:
    signature = SIGNATURE.close(claim(answer.id.encode("utf-8", "surrogatepass"), b"%d" % index))
    summary = [{"type": "text", "text": part.text}] if shows_summary else []

    def list_deltas() -> Iterator[tuple[Body, int]]:
        hidden = 0
        for piece, weight in list_pieces(part, answer.tokenizer):
            if shows_summary:
                yield {"type": "thought_summary", "content": {"type": "text", "text": piece}}, weight
            else:
                hidden += weight
        yield {"type": "thought_signature", "signature": signature}, hidden

    added: Body = {"signature": signature, **({"summary": summary} if summary else {})}
    return _Step({"type": "thought"}, list_deltas, added)


def _call(part: ToolUse, answer: Answer) -> _Step:
    used = part if has_object(part) else wrap_arguments(part)
    begun: Body = {"type": "function_call", "id": used.call.id, "name": used.call.name, "arguments": {}}

    def list_deltas() -> Iterator[tuple[Body, int]]:
        for piece, weight in list_pieces(used, answer.tokenizer):
            yield {"type": "arguments_delta", "arguments": piece}, weight

    return _Step(begun, list_deltas, {"arguments": read_arguments(used.call.arguments)})


def _make_whole(step: Body) -> _Step:
    """Return a step that begins with all that it has."""
    return _Step(step, lambda: iter(()), {})


def _make_citation(note: Mapping[str, Json]) -> Body:
    wanted = ("type", "url", "title", "start_index", "end_index")
    return {key: note[key] for key in wanted if note.get(key) is not None}


def _make_head(answer: Answer, options: InteractionOptions) -> Body:
    moment = write_moment(answer.created)
    head: Body = {
        "id": answer.id,
        "object": "interaction",
        options.by: options.name or answer.model,
        "role": "model",
        "created": moment,
        "updated": moment,
    }
    return head if options.previous is None else {**head, "previous_interaction_id": options.previous}


def _make_usage(answer: Answer) -> Body:
    usage = answer.usage
    written = max(usage.completion - usage.reasoning, 0)
    made: Body = {
        "total_input_tokens": usage.prompt,
        "input_tokens_by_modality": [{"modality": "text", "tokens": usage.prompt}],
        "total_cached_tokens": usage.cached,
        "total_output_tokens": written,
        "output_tokens_by_modality": [{"modality": "text", "tokens": written}],
        "total_tool_use_tokens": 0,
        "total_thought_tokens": usage.reasoning,
        "total_tokens": usage.total,
    }
    return made


def _make_event(kind: str, body: Mapping[str, Json], *, tokens: int = 0, part: str = "text") -> Frame:
    return Frame(to_json({"event_type": kind, **body}), event=kind, tokens=tokens, part=part)
