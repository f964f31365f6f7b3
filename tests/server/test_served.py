"""What is served stands still unless it is told to stray."""

from mockserver.core.http import Reply
from mockserver.core.plan import Timing
from mockserver.server.served import Served


def test_by_default_it_goes_out_at_once_and_is_not_kept() -> None:
    served = Served(Reply(200, ()), "generated")
    assert (served.timing, served.jitter(), served.settled) == (Timing(), 0.0, False)
