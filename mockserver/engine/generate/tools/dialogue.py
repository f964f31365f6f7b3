"""What the user answers when the assistant asked something: a request of before is open again.

Knows messages and English words of consent, no tools.
"""

import re
from collections.abc import Iterator

from mockserver.core.call import Call
from mockserver.engine.generate.tools.wording import is_deed, leading, words


def answers(call: Call) -> bool:
    """Whether the user's last message is but an answer to a question of the assistant: a value, or consent."""
    text = call.last_user
    if not _question(call) or len(text) > _LONGEST_ANSWER or _REFUSAL.match(text):
        return False
    said = words(text)
    return _CONSENT.match(text) is not None or not (is_deed(leading(said)) or "?" in text)


def reopened(call: Call) -> Iterator[str]:
    """The texts that say what is to be done now that the user has answered, the best first."""
    if not answers(call):
        return
    if _CONSENT.match(call.last_user):
        yield _question(call)
    said = [message.text for message in call.messages if message.role == "user"]
    yield from reversed(said[-1 - _MOST_EARLIER : -1])


def _question(call: Call) -> str:
    """The question that the assistant asked right before the user spoke last; empty where it asked none."""
    last = max((at for at, message in enumerate(call.messages) if message.role == "user"), default=0)
    before = call.messages[last - 1] if last else None
    if before is None or before.role != "assistant" or before.tool_calls:
        return ""
    asked = _ASKED.findall(before.text[-_LONGEST_QUESTION:])
    return _OFFER.sub("", asked[-1].strip(), count=1) if asked else ""


_LONGEST_ANSWER, _LONGEST_QUESTION = 160, 1_000  # characters
_MOST_EARLIER = 2
_ASKED = re.compile(r"[^.!?\n]{1,400}[?？]")
_OFFER = re.compile(
    r"\s*(?:shall|should|may|can|could)\s+I\s+|\s*(?:do\s+you\s+want|would\s+you\s+like)\s+me\s+to\s+", re.IGNORECASE
)
_CONSENT = re.compile(
    r"\s*(?:yes|yep|yeah|yup|sure|ok|okay|please\s+do|go\s+ahead|do\s+it|correct|right|exactly|confirm(?:ed)?|of\s+course|"
    r"absolutely|sounds\s+good|proceed|ja|oui|si|sí|sim|да|是|はい)\b",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\s*(?:no|nope|nah|never\s*mind|nothing|not\s+now|forget\s+it|stop|cancel\s+that|don'?t|nein|non|nee|нет|不)\b",
    re.IGNORECASE,
)
