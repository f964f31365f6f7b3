"""What other tools recorded becomes episodes: vcrpy's cassettes, HAR, a server's own journal.

What cannot be taken over is left, with its place and the reason; it never stops the rest.
"""

from dataclasses import dataclass

from mockserver.cassettes.importing.foreign import Foreign, Left
from mockserver.cassettes.importing.known import Known
from mockserver.cassettes.importing.making import episode
from mockserver.cassettes.importing.reading import foreign
from mockserver.core.episode import Episode

__all__ = ["Foreign", "Imported", "Known", "Left", "imported"]


@dataclass(frozen=True, slots=True)
class Imported:
    """The episodes of a file and where in it each stands, what was left of it, and how many requests to hosts that

    are no provider's, by host.
    """

    episodes: tuple[Episode, ...]
    places: tuple[str, ...]
    left: tuple[Left, ...]
    strangers: tuple[tuple[str, int], ...] = ()


def imported(data: bytes, file: str, known: Known, dialect: str | None = None) -> Imported:
    """What stands in a file; with a dialect given, all of it is that dialect's.

    Raises CassetteError where the file is in no known format.
    """
    episodes, left, strangers = list[tuple[Episode, str]](), list[Left](), dict[str, int]()
    for one in foreign(data, file):
        match one if isinstance(one, Left) else episode(one, known, dialect):
            case Episode() as made:
                episodes.append((made, one.where))
            case Left(host="") as made:
                left.append(made)
            case Left(host=host):
                strangers[host] = strangers.get(host, 0) + 1
    made_of, places = zip(*episodes, strict=True) if episodes else ((), ())
    return Imported(made_of, places, tuple(left), tuple(strangers.items()))
