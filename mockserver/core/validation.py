"""How closely a request is checked, and what a live provider would refuse of the history that it sends back."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from mockserver.core.plan import REASONS, Failure


class Validation(StrEnum):
    """The modes of the setting `validation`, from the loosest to the closest."""

    OFF = "off"  # skips validation: any request with a model and a conversation is answered
    PUBLISHED = "published"  # the provider's published schema, with every bound and exclusion
    LIVE = "live"  # also what only the live provider refuses


def find_validation(dialect: str, stated: str | Mapping[str, str]) -> Validation:
    """Return the mode of a dialect: the one that is stated for all, or in a table, which need not name each dialect."""
    return _MODES[stated if isinstance(stated, str) else stated.get(dialect, Validation.PUBLISHED)]


_MODES = {mode.value: mode for mode in Validation}  # a look-up, as asking an Enum takes a microsecond


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

    @property
    def refusal(self) -> Failure:
        """The failure as the setting `replay: error` raises it; reports say what to keep."""
        advice = f"{self.place}: {self.keep}; with the setting replay: warn, this is only a remark"
        return self.failure.replace(advice=advice)
