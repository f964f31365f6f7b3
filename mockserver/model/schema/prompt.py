"""What generation asks of a prompt: which values it has for the properties of an object."""

from collections.abc import Callable, Collection, Mapping, Sequence

from mockserver.core.json import Json
from mockserver.model.arguments import NOTHING, WHOLE, Mentions

__all__ = ["NOTHING", "WHOLE", "Fits", "Mentions", "PromptValues"]

Fits = Callable[[str, Json], bool]  # whether the property of this name may have a value
Views = Mapping[str, Json]  # properties by name: schemas without references


class PromptValues:
    """What a prompt says and no value has taken yet; set `left` again to undo what was taken."""

    def __init__(self, left: Mentions) -> None:
        self.left = left
        self.is_given = left is not NOTHING

    @property
    def size(self) -> int:
        """How much there is to look at for each property."""
        return len(self.left.found)

    @property
    def is_sparse(self) -> bool:
        """Whether what nobody says is to be left out."""
        return self.left.sparse

    def take_values(
        self, views: Views, fits: Fits, *, required: Sequence[str] = (), nullable: Collection[str] = ()
    ) -> Mapping[str, Json]:
        """Take what the prompt says of these properties.

        Of `required` ones on weaker evidence too, but not of those that are `nullable` texts: null is better than what
        is left of a prompt.
        """
        before = self.left
        values, self.left = before.assigned(views, fits, required=required)
        if doubtful := [name for name in nullable if isinstance(values.get(name), str)]:
            clear = before.assigned(views, fits)[0]
            if weak := {name for name in doubtful if name not in clear}:
                needed = [name for name in required if name not in weak]
                values, self.left = before.assigned(views, fits, required=needed)
        return values

    def take_count(self, name: str) -> int:
        """Take the number of items that the prompt wants of the list with this name: "4 tasks"; 0 if it says none."""
        count, self.left = self.left.counted(name)
        return count or 0

    def measure_evidence(self, views: Views) -> float:
        """Return how many of these properties it mentions, from 0 to 1."""
        return self.left.evidence(views)

    def split_for_items(self, views: Views) -> Sequence[Mentions]:
        """Return what is left for each item of a list of objects that have these properties."""
        return self.left.sets(views, listed=True)
