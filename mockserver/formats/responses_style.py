"""What makes one provider's Response look unlike another's, and what a request wants of it.

The agreed front is `responses.py`; this module stands apart so that items and events can know it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.call import Json


@dataclass(frozen=True, slots=True)
class ResponseStyle:
    """Which keys a provider shows and in which order, and the few habits of its streams."""

    response: tuple[str, ...]
    usage: tuple[str, ...] = (
        "input_tokens",
        "input_tokens_details",
        "output_tokens",
        "output_tokens_details",
        "total_tokens",
    )
    queued: bool = True  # an answer made in the background waits in a queue first; False: it is in progress at once
    incomplete_event: bool = True  # False: `response.completed` ends a stream whose answer is incomplete, too
    raw_reasoning: bool = False  # thoughts are shown as they are, not only what is told of them
    unset: Mapping[str, Json] = field(default_factory=dict)  # what is shown for what a request leaves open


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request has to do with the object that answers it.

    `echo`: what the object repeats of it (`tools`, `metadata`, `background`, ...), by key;
    `include`: what it wants shown beyond the common, in the provider's words;
    `summary`: whether it wants to be told what the model thought.
    """

    echo: Mapping[str, Json] = field(default_factory=dict)
    include: frozenset[str] = frozenset()
    summary: bool = False
