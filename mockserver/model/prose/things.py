"""Made-up things and remarks, for texts of which nothing is known but that they are wanted. Knows no prompt."""

from mockserver.core.seed import Random
from mockserver.model.languages import ENGLISH
from mockserver.model.prose.sentences import Speaker, pick
from mockserver.model.prose.topic import Topic


def thing(rng: Random) -> str:
    """A thing, in two words."""
    return f"{pick(ADJECTIVES, rng)} {pick(NOUNS, rng)}"


def remark(rng: Random) -> str:
    """A sentence that fits nearly anything."""
    return next(Speaker(_ANYTHING, rng).all_of(_REMARKS))


_ANYTHING = Topic("", ENGLISH)
_REMARKS = (
    "A good first step is to compare {a} with {b}.",
    "It helps to look at {a} before {b}.",
    "Most people begin with {a} and come to {b} later.",
    "In practice, {a} matters more than one would expect.",
    "Small differences in {a} add up over time.",
    "Both {a} and {b} play a part, although not always at the same time.",
    "The {a} is fine, and the {b} could be better.",
    "{A} comes first, then {b}.",
    "Much depends on {a}, and a little on {b}.",
    "It begins with {a} and ends with {b}.",
)
ADJECTIVES = (
    "quiet", "golden", "early", "little", "northern", "bright", "plain", "second", "winter", "gentle", "hidden",
    "green", "wooden", "steady", "open", "silver", "evening", "simple", "distant", "friendly", "round",
    "first", "blue", "honest",
)  # fmt: skip
NOUNS = (
    "anchor", "apple", "balcony", "barrel", "basket", "bench", "bicycle", "blanket", "boat", "bottle", "bridge",
    "bucket", "button", "candle", "carpet", "chair", "clock", "cloud", "compass", "corner", "curtain", "door",
    "engine", "feather", "fence", "field", "flag", "forest", "fountain", "garden", "gate", "hammer", "harbour",
    "harvest", "hill", "island", "jacket", "kettle", "key", "kitchen", "ladder", "lake", "lamp", "lantern",
    "leaf", "letter", "library", "map", "market", "meadow", "mirror", "mountain", "notebook", "orchard",
    "paper", "path", "pencil", "pillow", "pocket", "pond", "postcard", "puzzle", "rail", "ribbon", "river",
    "road", "roof", "rope", "saddle", "sail", "shelf", "ship", "shore", "signal", "spoon", "station", "stone",
    "street", "table", "teapot", "tent", "ticket", "tower", "train", "tree", "umbrella", "valley", "village",
    "violin", "wagon", "wall", "waterfall", "wheel", "whistle", "window", "workshop", "yard", "anthem",
    "beacon", "chapel",
)  # fmt: skip
