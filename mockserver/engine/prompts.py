"""Several prompts in one call: each becomes a call of its own, and what they come to is joined again.

Also has prompts read anew by the tokenizer that counts them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward, Plan, Raw
from mockserver.core.tokens import Tokenizer
from mockserver.engine.answer import together

ALONE = (Failure, Raw, Recorded, Forward)  # what one prompt got of these, all of the call get


def counted(call: Call, tokenizer: Tokenizer) -> Call:
    """The call as this tokenizer counts it; prompts of numbers read as it knows them."""
    if tokenizer is call.tokenizer:
        return call
    call = replace(call, tokenizer=tokenizer)
    if all(prompt.numbers is None for prompt in call.prompts):
        return call
    texts = ["".join(prompt.tokens(tokenizer)) for prompt in call.prompts]
    return replace(
        call,
        prompts=tuple(replace(prompt, text=text) for prompt, text in zip(call.prompts, texts, strict=True)),
        messages=tuple(replace(message, text=text) for message, text in zip(call.messages, texts, strict=True)),
        meaning={**call.meaning, _prompted(call): texts[0] if len(texts) == 1 else texts},
    )


def _prompted(call: Call) -> str:
    """The field that holds a call's prompts."""
    return "prompt" if "prompt" in call.meaning else "input"


def singles(call: Call) -> Iterator[Call]:
    """The calls that ask for each of a call's prompts alone."""
    for prompt, message in zip(call.prompts, call.messages, strict=True):
        meaning = {**call.meaning, _prompted(call): prompt.text}
        if message.parts:
            meaning["images"] = [dict(part) for part in message.parts]
        yield replace(call, prompts=(prompt,), messages=(message,), meaning=meaning)


def joined(plans: Sequence[Plan]) -> Plan:
    """One plan for all prompts of a call: what each got, in order; the first failure stands alone."""
    alone = next((plan for plan in plans if isinstance(plan.outcome, ALONE)), None)
    if alone is not None:
        return alone
    first = plans[0]
    source = ", ".join(dict.fromkeys(plan.source for plan in plans))
    settled = all(plan.settled for plan in plans)
    faults = next((plan.faults for plan in plans if plan.faults), ())  # one reply, so those of one rule
    outcome = together([plan.outcome for plan in plans])
    bent_by = tuple(dict.fromkeys(bent for plan in plans for bent in plan.bent_by))
    through = tuple(dict.fromkeys(path for plan in plans for path in plan.through))
    whole = replace(first, outcome=outcome, source=source, settled=settled)
    return replace(whole, faults=faults, bent_by=bent_by, through=through)
