"""Variables of the environment that are set for a while."""

import os

import pytest

from mockserver.testing.clients import Environs, without_ours


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


def test_what_somebody_had_changed_is_put_back_once_that_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    environs = Environs()
    environs.put({"X_THERE": "now"})
    with pytest.MonkeyPatch.context() as other:
        other.setenv("X_THERE", "by somebody else")
        environs.restore()
    assert os.environ["X_THERE"] == "now"
    environs.restore()
    assert os.environ["X_THERE"] == "before"


def test_what_it_is_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    monkeypatch.delenv("X_NEW", raising=False)
    outer, inner = Environs(), Environs()
    outer.put({"X_THERE": "now", "X_NEW": "now"})
    inner.put({"X_THERE": "later"})
    assert (without_ours()["X_THERE"], without_ours().get("X_NEW")) == ("before", None)
    assert (os.environ["X_THERE"], os.environ["X_NEW"]) == ("later", "now")
    inner.restore()
    outer.restore()
    assert without_ours()["X_THERE"] == os.environ["X_THERE"] == "before"
