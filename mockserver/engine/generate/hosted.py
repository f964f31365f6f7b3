"""Plausible uses of the provider's own tools. Knows their kinds, not when they are called."""

from mockserver.core.call import Call, Tool
from mockserver.core.plan import Item
from mockserver.core.seed import Seed


def hosted_use(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """A use of one of the provider's own tools; None where nothing is known of its kind."""
    return None
