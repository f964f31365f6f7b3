"""Keys held against those of the settings."""

import pytest

from mockserver.config.models_and_limits import Key
from mockserver.core.plan import Failure
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.server.access import admit, permit

KEYS = {"good": Key(), "blocked": Key(allowed=False), "narrow": Key(models=("gpt-4o*", "o3"))}
MODELS = Catalogue({"gpt-*": Model(), "o3-2025": Model(aliases=("o3-latest",), resolved="o3"), "o4": Model()})


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("good", None),
        ("narrow", None),
        ("blocked", "key_not_allowed"),
        ("other", "invalid_key"),
        ("", "invalid_key"),
        (None, "missing_key"),
    ],
)
def test_admit(key: str | None, reason: str | None) -> None:
    admit(key, None)
    if reason is None:
        admit(key, KEYS)
        return
    with pytest.raises(Failure) as refused:
        admit(key, KEYS)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("gpt-4o", None),
        ("gpt-4o-mini", None),
        ("o3-2025", None),  # its answers are called o3
        ("o3-latest", None),
        ("", None),
        ("gpt-5", "model_not_allowed"),
        ("o4", "model_not_allowed"),
        ("no-such-model", "unknown_model"),
    ],
)
def test_permit(model: str, reason: str | None) -> None:
    for key, keys in (("good", KEYS), ("narrow", None), (None, KEYS)):
        permit(model, key, keys, MODELS)
    if reason is None:
        permit(model, "narrow", KEYS, MODELS)
        return
    with pytest.raises(Failure) as refused:
        permit(model, "narrow", KEYS, MODELS)
    assert refused.value.reason == reason
