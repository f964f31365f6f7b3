"""Batches: calls that are answered in the background, and whose results are retrieved later."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Stored
from mockserver.kinds.objects import Creation, Found, ObjectKind, cancel, delete, show


def _end(call: Call, stored: Stored) -> Found:
    """Show a batch, which has ended by the time it is retrieved."""
    if not stored.polls:
        return Found(stored)
    ended = replace(stored, polls=0)
    return Found(ended, ended)


def _delete_ended(call: Call, stored: Stored) -> Found:
    return Found(stored) if stored.polls else delete(call, stored)


BATCHES = ObjectKind(
    made_by="create_batch",
    listed_by="batches",
    acts={"batch": _end, "delete_batch": _delete_ended, "cancel_batch": cancel, "batch_results": show},
)
STATUSES = (
    *("validating", "in_progress", "finalizing", "completed", "failed", "expired"),
    *("cancelling", "cancelled"),
)
OPERATIONS = (
    Creation(name=BATCHES.made_by, statuses=STATUSES, holds_calls=True, takes_text=False),
    *BATCHES.look_ups,
)
