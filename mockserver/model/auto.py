"""What a model would do with a request; most get prose, and need no module but those of prose."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.seed import Seed
from mockserver.model.passages import is_plain, write_plain_prose


def auto(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What a model would do: call a fitting tool, or answer in the requested format.

    A prompt may order JSON of a shape, exact words, an option, a sum, a list or a table; all others get prose.
    """
    said = None if options else write_plain_prose(call, seed)
    if said is not None:
        return said
    from mockserver.model import reply  # 30 modules and 2 MB, for requests that want more than prose

    return (reply.answer_in_words if is_plain(call) else reply.reply)(call, seed, options)
