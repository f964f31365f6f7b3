"""What an answer of text completions says: whole, or its chunks put together."""

from collections.abc import Mapping, Sequence

from mockserver.cassettes.told.chats import around, prompt_filters
from mockserver.cassettes.told.events import DONE, Event
from mockserver.cassettes.told.told import Said, Told, number, rows, spoken, table, text
from mockserver.core.json_text import Json


def of_completion(body: Mapping[str, Json]) -> Told:
    """A plain answer."""
    choices = sorted(rows(body.get("choices")), key=lambda choice: number(choice.get("index")))
    return Told(
        choices=tuple(_choice(choice, text(choice.get("text"))) for choice in choices),
        model=text(body.get("model")),
        usage=table(body.get("usage")) or None,
        prompt_filters=prompt_filters(body),
    )


def of_text_chunks(events: Sequence[Event]) -> Told:
    """A streamed one."""
    words, beside = dict[int, str](), dict[int, dict[str, Json]]()
    for event in events:
        for choice in rows(event.table.get("choices")):
            at = number(choice.get("index"))
            words[at] = words.get(at, "") + text(choice.get("text"))
            beside.setdefault(at, {}).update({key: value for key, value in choice.items() if value is not None})
    choices = tuple(_choice(beside[at], words[at]) for at in sorted(words))
    return Told(choices=choices, **around(events, whole=any(event.text == DONE for event in events)))


def _choice(beside: Mapping[str, Json], words: str) -> Said:
    return Said(
        parts=spoken("text", words),
        finish=text(beside.get("finish_reason")),
        filters=table(beside.get("content_filter_results")) or None,
    )
