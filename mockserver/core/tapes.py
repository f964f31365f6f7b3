"""What has recorded answers, or can have them recorded, behind one small protocol."""

from typing import Protocol

from mockserver.core.call import Call
from mockserver.core.plan import Outcome


class Tapes(Protocol):
    """Cassettes to look calls up in."""

    async def play(self, call: Call, cassette: str | None = None) -> Outcome | None:
        """What a call gets: Recorded, or Forward where it is to be asked upstream, or the Failure that says what was

        nearest. Without a name, from what the call's namespace plays; None: that plays nothing.
        """
