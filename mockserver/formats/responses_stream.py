"""Response: an Answer as typed events (`wire/openai.md` section 7), in the style that `responses_style.py` defines.

Knows no pace; there is no terminator.
"""

from collections.abc import Iterator

from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.plan import Answer, Broken
from mockserver.formats.responses import begun, status_of, whole
from mockserver.formats.responses_items import Output, outputs
from mockserver.formats.responses_steps import Step, Steps, Track, item_steps
from mockserver.formats.responses_style import Asked, ResponseStyle


def events(answer: Answer, style: ResponseStyle, asked: Asked) -> Iterator[Frame]:
    """The frames of a streamed answer, numbered without a gap.

    The stream of an answer that is not there yet stops where the answer stands.
    """
    for number, (name, rest, tokens, part) in enumerate(_steps(answer, style, asked)):
        data = b'{"type":"%b","sequence_number":%d,%b' % (name.encode(), number, rest)
        yield Frame(data, name, tokens, part)


def _steps(answer: Answer, style: ResponseStyle, asked: Asked) -> Steps:
    yield from _opening(answer, style, asked)
    if answer.phase:
        return
    built, previews = outputs(answer, style, asked), _previews(asked)
    for index, output in enumerate(built):
        yield from item_steps(Track(index, output, answer.tokenizer, previews))
    yield _ending(answer, style, asked, built)


def _opening(answer: Answer, style: ResponseStyle, asked: Asked) -> Steps:
    started = to_json({"response": begun(answer, style, asked)})[1:]
    created = started
    waits = answer.phase == "queued" or asked.echo.get("background") is True
    if style.queued and waits:
        created = to_json({"response": begun(answer, style, asked, queued=True)})[1:]
    yield Step("response.created", created, part="open")
    if created is not started:
        yield Step("response.queued", created, part="open")
    if status_of(answer, style) != "queued":
        yield Step("response.in_progress", started, part="open")


def _previews(asked: Asked) -> int:
    """How many images the request wants to see before one is ready."""
    tools = (tool for tool in asked.echo.get("tools") or () if tool.get("type") == "image_generation")
    wanted = next((tool.get("partial_images") for tool in tools), None)
    return min(wanted, _MOST_PREVIEWS) if isinstance(wanted, int) else 0


def _ending(answer: Answer, style: ResponseStyle, asked: Asked, built: list[Output]) -> Step:
    match answer.broken:
        case Broken(event=True) as broken:
            error = {"code": broken.code, "message": broken.message, "param": None}
            return Step("error", to_json(error)[1:], part="finish")
    ended = status_of(answer, style)
    if ended == "incomplete" and not style.incomplete_event:
        ended = "completed"
    final = to_json({"response": whole(answer, style, asked, built)})[1:]
    return Step(f"response.{ended}", final, part="finish")


_MOST_PREVIEWS = 3
