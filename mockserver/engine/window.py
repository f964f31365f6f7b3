"""How much room an answer has: a model's context window, and what text that no rule gives may come to.

Knows windows as numbers by model pattern, not where they are set.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from mockserver.core.call import Call
from mockserver.core.plan import Failure
from mockserver.engine.generate.prose import MOST_TOKENS
from mockserver.engine.when.predicates import PLAIN, PREDICATES

Windows = Mapping[str, int]  # tokens by the name of a model, `*` being a wildcard; the first that fits counts


def fitting(call: Call, windows: Windows) -> Call:
    """The call within its model's window. Raises Failure where it asks for more and does not allow less."""
    window = next((size for pattern, size in windows.items() if fits(pattern, call.model)), None)
    if window is None or call.operation not in _ANSWERED:
        return call
    prompt, asked = call.prompt_tokens, call.max_tokens
    if prompt > window and call.overflow == "truncate" and not call.prompts and call.operation in _FORGETFUL:
        return call  # the oldest of the conversation is dropped, which nobody sees
    if prompt >= window and (asked != 0 or prompt > window):
        raise _too_long(call, window, 0)
    room = window - prompt
    if asked is not None and asked > room and call.overflow == "error":
        raise _too_long(call, window, asked)
    if asked is not None:
        return replace(call, max_tokens=min(asked, room)) if asked > room else call
    return replace(call, max_tokens=room)


@lru_cache(maxsize=1024)
def fits(pattern: str, name: str) -> bool:
    """Whether a model has this name, `*` being a wildcard as everywhere in rules."""
    return bool(PREDICATES["glob"].build(pattern, PLAIN)(name))


def unbidden(call: Call) -> Call:
    """The call as a generator answers it: up to the provider's own limit, or on to the last token that is allowed."""
    most = _ENDLESS if call.ignore_eos and call.max_tokens is None else call.max_tokens
    if call.usual_tokens is not None:
        most = call.usual_tokens if most is None else min(most, call.usual_tokens)
    if call.ignore_eos and most is not None:
        most = min(most, MOST_TOKENS - 1)
    return call if most == call.max_tokens else replace(call, max_tokens=most)


def _too_long(call: Call, window: int, asked: int) -> Failure:
    details = {"limit": window, "tokens": call.prompt_tokens + asked}
    both = {"prompt": call.prompt_tokens, "completion": asked} if asked else {}
    return Failure("context_length", details={**details, **both})


_ENDLESS = 2048  # tokens of a text that never ends
_ANSWERED = ("chat", "completions", "responses")
_FORGETFUL = ("responses",)
