"""`@dataclass` with methods that are generated when they are first called.

The standard library compiles the source of up to six methods for each class at once, which takes a sixth of the time in
which a command starts. Of most of our 260 classes a start calls none.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Like that of the standard library; the options are those of `_dataclass`."""
        return _dataclass(cls, **options) if cls is not None else lambda cls: _dataclass(cls, **options)


def _dataclass(  # size: the options of the standard library's
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    unsafe_hash: bool = False,
) -> type:
    own = {name for name, value in vars(cls).items() if value is not None}  # without the None of an unset __hash__
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the standard library works its signature out
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    hashed = unsafe_hash or (eq and frozen)
    wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": hashed}
    for name in wanted:
        if wanted[name] and name not in own:
            setattr(cls, name, _generated_when_called(cls, name, frozen))
    if eq and not hashed and "__hash__" not in own:
        cls.__hash__ = None  # type: ignore[assignment]
    if frozen:
        for name in _FROZEN.keys() - own:
            setattr(cls, name, _FROZEN[name])
    return cls


def _generated_when_called(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    def method(self: object, *args: Any, **kwargs: Any) -> Any:
        generated = _generate(cls, name, frozen)
        setattr(cls, name, generated)
        return generated(self, *args, **kwargs)

    return method


def _generate(cls: Any, name: str, frozen: bool) -> Callable[..., Any]:
    """Let the standard library generate one method, on a class of the same fields."""
    fields = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
    options: dict[str, Any] = {switch: name == method for method, switch in _SWITCHES.items()}
    namespace: dict[str, Any] = {"__doc__": cls.__doc__}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = None  # so that __init__ calls that of `cls`
    options["frozen"] = frozen and name == "__init__"
    twin = dataclasses.make_dataclass(cls.__name__, fields, namespace=namespace, **options)
    method: Callable[..., Any] = vars(twin)[name]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return method


_SWITCHES = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash"}


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,  # pickle and copy set attributes of classes with slots
    "__setstate__": _set_state,
}
