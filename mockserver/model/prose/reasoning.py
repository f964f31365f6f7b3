"""What a model thinks before it speaks, where the request asks it to think."""

from dataclasses import replace
from itertools import islice

from mockserver.core.call import Call
from mockserver.core.plan import Part, Reasoning
from mockserver.core.seed import Seed
from mockserver.core.tokens import count, split
from mockserver.model.prose import topic_of
from mockserver.model.prose.sentences import Speaker, blank


def reasoning(call: Call, seed: Seed) -> tuple[Reasoning, ...]:
    """The thoughts before an answer; none where nobody asks for them.

    The harder a model is to think, the longer; but never more than half of the tokens that the client allows.
    """
    length = _LENGTHS.get(call.effort or "none", _LENGTHS["medium"])
    most = length if call.max_tokens is None else min(length, call.max_tokens // 2)
    if most <= 0:
        return ()
    return (Reasoning(_thought(call, seed, most)),)


def after(call: Call, thoughts: tuple[Part, ...]) -> Call:
    """The call with what its thoughts leave of the tokens that it allows."""
    if not thoughts or call.max_tokens is None:
        return call
    spent = sum(count(part.text) for part in thoughts if isinstance(part, Reasoning))
    return replace(call, max_tokens=max(call.max_tokens - spent, 0))


def _thought(call: Call, seed: Seed, most: int) -> str:
    """So many tokens of thoughts, whole sentences where one fits."""
    about = topic_of(call)
    between, text = blank(about), ""
    for sentence in islice(Speaker(about, seed.stream("reasoning")).thoughts(), most):
        longer = text + between + sentence if text else sentence
        if count(longer) > most:
            break
        text = longer
    return text or "".join(split(sentence)[:most])


# How many tokens a model of each effort thinks at the most.
_LENGTHS = {"none": 0, "minimal": 0, "low": 40, "medium": 90, "high": 180, "xhigh": 280, "max": 400}
