"""Variables of the environment that are set for a while."""

import os

import pytest

from mockserver.testing.environs import Environs


def test_they_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    monkeypatch.setenv("X_CHANGED", "before")
    monkeypatch.delenv("X_NEW", raising=False)
    environs = Environs()
    environs.put({"X_THERE": "now", "X_NEW": "now", "X_CHANGED": "now"})
    environs.put({"X_THERE": "later"})
    assert (os.environ["X_THERE"], os.environ["X_NEW"]) == ("later", "now")
    os.environ["X_CHANGED"] = "by somebody else"
    environs.restore()
    assert (os.environ["X_THERE"], os.environ.get("X_NEW")) == ("before", None)
    assert os.environ["X_CHANGED"] == "by somebody else"
    environs.restore()
    assert os.environ["X_THERE"] == "before"
