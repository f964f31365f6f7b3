"""What is served goes out at once unless it is told to wait."""

from mockserver.core.http import Reply
from mockserver.delivery.pace import AT_ONCE
from mockserver.server.live import Served


def test_by_default_it_goes_out_at_once_and_is_not_kept() -> None:
    served = Served(Reply(200, ()), "generated")
    assert (served.pace, served.timed, served.cacheable) == (AT_ONCE, None, False)
