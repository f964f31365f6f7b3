"""What a model would do with a request; most get prose, and need no module but those of prose."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.prose.generators import topic_of
from mockserver.model.prose.orders import is_plain_english, orders_nothing
from mockserver.model.prose.passages import prose_on
from mockserver.model.prose.topic import ENGLISH, Topic, english_topic


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call a fitting tool, or answer in the requested format.

    A prompt may order JSON of a shape, exact words, an option, a sum, a list or a table; all others get prose.
    """
    said = None if options else plain_prose(call, seed)
    if said is not None:
        return DraftChoice((Text(said[0]),), tokens=said[1])
    from mockserver.model import replies  # 30 modules and 2 MB, for requests that want more than prose

    return (replies.reply if _is_plain(call) else replies.answered)(call, seed, options)


def plain_prose(call: Call, seed: Seed) -> tuple[str, int | None] | None:
    """Return English prose, and its tokens if they are known; None if a call wants something else, or more."""
    about = _plain_topic(call) if _is_plain(call) else None
    return None if about is None else prose_on(about, call, seed.stream("prose"))


def _plain_topic(call: Call) -> Topic | None:
    """Return the topic of a call that orders nothing in English; None of all others."""
    if is_plain_english(call):
        return english_topic(call.last_user)
    about = topic_of(call) if orders_nothing(call) else None
    return about if about is not None and about.language == ENGLISH else None


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
