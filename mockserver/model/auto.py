"""What a model would do with a request; most get prose, and need no module but those of prose."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Random, Seed
from mockserver.model.prose.generators import system, text_on, topic_of
from mockserver.model.prose.orders import may_order
from mockserver.model.prose.passages import passage
from mockserver.model.prose.topic import ENGLISH, Topic


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call a fitting tool, or answer in the requested format.

    A prompt may order JSON of a shape, exact words, an option, a sum, a list or a table; all others get prose.
    """
    if not options and _is_plain(call) and orders_nothing(call) and (about := topic_of(call)).language == ENGLISH:
        return prose_on(about, call, seed.stream("prose"))
    from mockserver.model import replies  # 30 modules and 2 MB, for requests that want more than prose

    return replies.answered(call, seed, options)


def _is_plain(call: Call) -> bool:
    """Whether a call can get a reply only, as it has no tools and no text that any agent would write."""
    asked = call.options
    if call.tools or call.prompts or asked.prefill or asked.effort is not None or asked.response_format != "text":
        return False
    for message in call.messages:
        text = message.text
        if message.parts or message.tool_calls or "\n" in text or "<" in text or "[[" in text or text[:4] == "For ":
            return False
    return True


def orders_nothing(call: Call) -> bool:
    """Whether none of the readers of orders would find one, so that they need not look."""
    if call.prompts or call.options.ignore_eos or not call.messages or call.messages[-1].role != "user":
        return False
    last, first = call.messages[-1].text, next(message.text for message in call.messages if message.role == "user")
    return not (may_order(last) or may_order(system(call), ruling=True) or (first is not last and may_order(first)))


def prose_on(about: Topic, call: Call, rng: Random) -> DraftChoice:
    """Return what the conversation says of a topic, or prose."""
    found = passage(call, about)
    text, tokens = (found, None) if found else text_on(about, call, rng, {})
    return DraftChoice((Text(text),), tokens=tokens if about.language == ENGLISH else None)
