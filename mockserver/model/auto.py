"""What a model would do with a request; most get prose, and need no module but those of prose."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.passages import write_plain_prose


def answer_as_model(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Answer as a model would: call a fitting tool, keep to the format or the orders of the prompt, or write prose."""
    if call.prompts and call.prompts[0].suffix is not None:
        from mockserver.model.middle import fill_middle

        if (code := fill_middle(call.prompts[0])) is not None:
            return DraftChoice((Text(code),))
    said = None if options else write_plain_prose(call, seed)
    if said is not None:
        return said
    from mockserver.model.reply import reply  # and 2 MB of modules, for requests that want more than prose

    return reply(call, seed, options)
