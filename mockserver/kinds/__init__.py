"""Kinds of operations beside conversations: all about each of them in one module, whatever the provider.

A dialect adds how a kind looks on its wire, and lists its operation. Everything else that has to know what an operation
is (rules, reports, limits, `ask`) looks it up in KINDS.
"""

from collections.abc import Mapping

from mockserver.kinds.embeddings import EMBEDDINGS
from mockserver.kinds.kind import OperationKind
from mockserver.kinds.moderations import MODERATIONS

KINDS: Mapping[str, OperationKind] = {kind.operation: kind for kind in (EMBEDDINGS, MODERATIONS)}
KINDS_BY_KEY: Mapping[str, OperationKind] = {kind.key: kind for kind in KINDS.values()}  # of `then`
