"""Which calls no rule answered, though rules are for them: the one meaning of `unmatched` in all reports."""

from mockserver.core.exchange import Exchange
from mockserver.engine.then.operations import ASKED


def unruled(row: Exchange) -> bool:
    """Whether no rule answered what rules are for, whether or not an answer was made up then."""
    return row.source == "unmatched" or (row.source == "generated" and row.operation in ASKED)
