"""What a `then` can come to: its steps, its branches and its faults, and where each is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mockserver.core.errors import Place
from mockserver.engine.spec.models import ThenSpec
from mockserver.engine.then.site import Site


@dataclass(frozen=True, slots=True)
class Strand:
    """One of them: its path, as answers that go through it say it, where it stands, and the name of a fault."""

    path: str
    place: Place | None
    fault: str = ""


def strands(then: ThenSpec, site: Site) -> Iterator[Strand]:
    """Those of a `then`, in the order of the file; of steps that have branches, and the like, the innermost."""
    for at, step in enumerate(then.steps or ()):
        here = site.at("steps", at)
        yield from _inner(step, here, _place(here))
    for at, branch in enumerate(then.one_of or ()):
        here = site.at("one_of", at)
        yield from _inner(branch.then, here.at("then"), _place(here))
    for at, fault in enumerate(then.faults or ()):
        here = site.at("faults", at)
        yield Strand(here.inside, _place(here), str(next(iter(fault), "") if isinstance(fault, Mapping) else fault))


def _inner(then: ThenSpec, site: Site, place: Place | None) -> Iterator[Strand]:
    if not then.steps and not then.one_of:
        yield Strand(site.inside, place)
    yield from strands(then, site)


def _place(site: Site) -> Place | None:
    return site.mistakes.document.place(site.path)
