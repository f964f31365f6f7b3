"""What has recorded answers, or can have them recorded, behind one small protocol."""

from dataclasses import dataclass
from typing import Protocol

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward
from mockserver.core.store import Store


@dataclass(frozen=True, slots=True)
class Played:
    """What a call gets of a cassette, and where that comes from; `settled`: it will get the same again."""

    outcome: Recorded | Forward | Failure
    source: str
    settled: bool = False


class Tapes(Protocol):
    """Cassettes to look calls up in."""

    async def play(self, call: Call, store: Store, cassette: str | None = None) -> Played | None:
        """What a call gets: Recorded, or Forward where it is to be asked upstream, or the Failure that says what was

        nearest. Without a name, from the cassette that is loaded; None: there is none. `store` counts repeats.
        """
