"""What a model thinks before it speaks, where the request asks it to think."""

from mockserver.core.call import Call
from mockserver.core.plan import Reasoning
from mockserver.core.seed import Seed


def reasoning(call: Call, seed: Seed) -> tuple[Reasoning, ...]:
    """The thoughts before an answer; none where nobody asks for them."""
    return ()
