"""Who may ask, and for which model: a request's key held against those of the settings."""

from collections.abc import Mapping

from mockserver.core.plan import Failure
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.models import fits
from mockserver.kinds.keys import Key

ListedKeys = Mapping[str, Key]


def admit(key: str | None, keys: ListedKeys | None) -> None:
    """Refuse a credential that the settings do not list; where they list none, any will do, even none."""
    if keys is None:
        return
    if key is None:
        raise Failure("missing_key")
    if key not in keys:
        raise Failure("invalid_key", details={"key": key})
    if not keys[key].allowed:
        raise Failure("key_not_allowed")


def permit(model: str, key: str | None, keys: ListedKeys | None, models: Catalogue) -> None:
    """Refuse a model that its key may not ask, unless there is no such model at all."""
    entry = keys.get(key) if keys is not None and key is not None else None
    if entry is None or entry.models is None or not model:
        return
    models.admit(model)
    names = (model, models.find(model).name)
    if not any(fits(pattern, name) for pattern in entry.models for name in names):
        raise Failure("model_not_allowed", details={"model": model})
