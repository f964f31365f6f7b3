"""What is made once, when it is first needed: items of large answers, values of slow modules, patterns, results."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import import_module
from itertools import islice
from operator import eq
from typing import TYPE_CHECKING, Any, AnyStr, Generic, ParamSpec, TypeVar, cast
from weakref import WeakSet

from msgspec import Struct
from msgspec.json import decode, encode

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T", covariant=True)
V = TypeVar("V")
K = TypeVar("K")
R = TypeVar("R")
P = ParamSpec("P")


class LazySequence(Sequence[T]):
    """Makes its items anew for each reader, in order. `tokens`: those of log probabilities, known beforehand."""

    __slots__ = ("_count", "_make", "tokens")

    def __init__(self, make: Callable[[], Iterator[T]], count: int, tokens: Sequence[str] = ()) -> None:
        self._make = make
        self._count = count
        self.tokens = tokens

    def __iter__(self) -> Iterator[T]:
        return self._make()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self)[at]
        if not -self._count <= at < self._count:
            raise IndexError(at)
        return next(islice(self, at % self._count, None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


FEW_ITEMS = 16  # items that are made at once


def map_lazily(change: Callable[[Any], Any], items: Sequence[Any], *, few: int = FEW_ITEMS) -> Sequence[Any]:
    """Return the changed items: as a list where they are few, else made while they are read."""
    return LazySequence(lambda: map(change, items), len(items)) if len(items) > few else [*map(change, items)]


def join_batches(pieces: Iterable[bytes], least: int) -> Iterator[bytes]:
    """Join pieces to larger ones, but not all of them: together they may fill the memory."""
    some = list[bytes]()
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size >= least:
            yield b"".join(some)
            some = []
            size = 0
    if some:
        yield b"".join(some)


class lazy_property(Generic[V]):  # noqa: N801  # used as a decorator
    """functools.cached_property without its lock, which takes longer than many a property in Python 3.11."""

    def __init__(self, make: Callable[[Any], V]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> V:
        if instance is None:
            return self  # type: ignore[return-value]
        value = instance.__dict__[self._name] = self._make(instance)
        return value


class LazyValue(Struct, frozen=True, gc=False):
    """A value of a `lazy_field` before its first use: `make(given)`."""

    make: Callable[[Any], Any]
    given: Any


class lazy_field(Generic[V]):  # noqa: N801  # lower case, like lazy_property
    """A field of a struct class, which `field` reads, whose values may be made later. The struct has a dict, too."""

    def __init__(self, field: Any) -> None:
        self._field = field
        self._name = field.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> V:
        value = self._field.__get__(instance)
        if type(value) is LazyValue:
            value = value.make(value.given)
        instance.__dict__[self._name] = value
        return value  # type: ignore[no-any-return]


class LazyTable(dict[str, V | str]):
    """Values by name; those given as `module:attribute` are imported when they are first read."""

    def __getitem__(self, name: str) -> V:
        entry = super().__getitem__(name)
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            self[name] = entry = cast(V, getattr(import_module(module), attribute))
        return entry

    def is_imported(self, name: str) -> bool:
        return not isinstance(self.get(name), str)


class LazyMapping(Mapping[str, T]):
    """Values by name, each made when it is first read; the names are known without any."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made = dict[str, T]()

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _LazyPattern:
    """Becomes as fast as the pattern, whose methods it takes over, once it is used."""

    __slots__ = ("_source", "findall", "finditer", "fullmatch", "match", "pattern", "search", "split", "sub")

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled: re.Pattern[Any] = re.compile(*self._source)
        for each in self.__slots__[1:]:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def compile_lazily(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when it is first used."""
    return cast(re.Pattern[AnyStr], _LazyPattern(source, flags))


class Memo(dict[K, V]):
    """What was found before, by what it was found for. Before it would take more than `most` bytes, all is forgotten.

    At least the `fewest` values have room: a larger one is not kept. Threads may share a memo: at worst they find the
    same value twice.
    """

    def __init__(self, most: int, fewest: int = 8) -> None:
        self._most = self._left = most
        self._largest = most // fewest

    def keep(self, key: K, value: V, size: int) -> V:
        """Return a value, and keep it unless it is large; `size`: the bytes of it and its key."""
        size += _ENTRY
        if size > self._largest:
            return value
        if size > self._left:
            self.clear()
            self._left = self._most
        self._left -= size
        self[key] = value
        return value


def remember(most: int) -> "Callable[[Callable[P, R]], _lru_cache_wrapper[R]]":
    """Keep the latest results of a function, as `lru_cache` does, until what was remembered is forgotten.

    For functions of texts that clients send, which are bounded in number here, but not in bytes.
    """

    def decorate(function: Callable[P, R]) -> "_lru_cache_wrapper[R]":
        remembering = lru_cache(most)(function)
        _REMEMBERING.add(remembering)
        return remembering

    return decorate


def remember_json(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep the latest results of a function whose first argument is JSON, as clients send it again in new objects.

    It is to read texts only: what is no number may be read as null. What is long, or cannot be written, is read anew.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @remember(most)
        def read(written: bytes, *others: Any) -> R:
            return function(decode(written), *others)

        @wraps(function)
        def find(value: Any, *others: Any) -> R:
            with suppress(ValueError, RecursionError):  # half a character, or too deep
                written = encode(value)
                if len(written) <= _LONGEST_REMEMBERED:
                    return read(written, *others)
            return function(value, *others)

        return find

    return decorate


def forget_remembered() -> None:
    """Empty all caches that `remember` has made."""
    for remembering in tuple(_REMEMBERING):
        remembering.cache_clear()


_LONGEST_REMEMBERED = 20_000  # bytes of JSON
_REMEMBERING = WeakSet["_lru_cache_wrapper[Any]"]()
_ENTRY = 100  # bytes that the dict takes for an entry, about
