"""One served request, and why it was answered so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One condition of a rule held against a request: what was wanted, what stood there, whether it held."""

    field: str
    predicate: str
    expected: object
    actual: object
    ok: bool


@dataclass(slots=True)
class Exchange:
    """A row of the journal. It is filled when the answer has gone out: status, how it ended, seconds it took."""

    seq: int
    method: str
    path: str
    dialect: str
    namespace: str
    source: str = ""
    status: int = 0
    ended: str = ""  # complete | client left | cut
    elapsed: float = 0.0
