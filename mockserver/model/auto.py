"""What a model would do with a request; most get prose, and need no module but those of prose."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.seed import Seed
from mockserver.model.prose.generators import topic_of
from mockserver.model.prose.orders import orders_nothing
from mockserver.model.prose.passages import prose_on
from mockserver.model.prose.topic import ENGLISH


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call a fitting tool, or answer in the requested format.

    A prompt may order JSON of a shape, exact words, an option, a sum, a list or a table; all others get prose.
    """
    is_plain = _is_plain(call)
    if is_plain and not options and orders_nothing(call) and (about := topic_of(call)).language == ENGLISH:
        return prose_on(about, call, seed.stream("prose"))
    from mockserver.model import replies  # 30 modules and 2 MB, for requests that want more than prose

    return (replies.reply if is_plain else replies.answered)(call, seed, options)


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
