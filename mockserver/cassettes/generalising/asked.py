"""What rules are made from: what a recorded request says, field by field, and what its answer says."""

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.cassettes.told import Told
from mockserver.core.json_text import Json

Then = Mapping[str, Json]
When = Mapping[str, Json]

# Fields of `when` that tell requests apart, the most telling first; parameters of the body come after them.
FIELDS = (
    *("dialect", "model", "tool_result.text", "tools", "tool_choice", "response_format", "system", "turn"),
    *("conversation", "previous_response", "images"),
)
READ = ("operation", "last_user", "last_message", "tool_result.name", "stream", *FIELDS)


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded request and answer.

    `fields` are those of READ that the request has, and `param.<name>` of its body.
    """

    source: str  # chat.yaml#3
    dialect: str
    fields: Mapping[str, Json]
    told: Told
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it will be written: what it is called after, when, then, and how often."""

    sources: tuple[str, ...]
    when: When
    then: Then
    times: int | None = None
