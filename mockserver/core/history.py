"""What a live provider would refuse of the history that a client sends back."""

from msgspec import Struct

from mockserver.core.plan import REASONS, Failure


class HistoryProblem(Struct, frozen=True):
    """The provider's own refusal, where in the history its cause is, and what a client has to keep there.

    `part`: which request of a batch has this history.
    """

    failure: Failure
    place: str
    keep: str
    part: int | None = None

    @property
    def remark(self) -> str:
        failure = self.failure
        status = failure.status or REASONS[failure.reason]
        return f'{self.place}: the live provider refuses this history with {status} "{failure.message}"; {self.keep}'
