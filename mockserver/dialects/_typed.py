"""Bodies read by msgspec in one step, in types that are derived from the tables of fields.

Such a type accepts at most what its table accepts. If it refuses a body, or cannot be certain, the table decides.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import ceil, floor
from typing import Annotated, Any, Literal, Union

from msgspec import UNSET, Meta, MsgspecError, Raw, Struct, UnsetType, ValidationError, defstruct
from msgspec.json import Decoder, decode, encode

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property


class TypedModel:
    """Reads bodies as structs with the fields of a table; a missing field is UNSET.

    The fields in `texts` are kept as msgspec's Raw, for another model to read.
    """

    def __init__(self, schema: Mapping[str, Any], texts: Collection[str] = ()) -> None:
        self._schema, self._texts = schema, texts

    @lazy_property
    def _type(self) -> type[Struct]:
        return _make_struct(self._schema, texts=self._texts)

    @lazy_property
    def _decode(self) -> Callable[[bytes], Any]:
        return Decoder(self._type, dec_hook=_refuse_other).decode

    def read(self, body: bytes) -> Any:
        """Return the struct of a body; None if it is invalid JSON, or may be invalid for the table.

        Duplicate keys and depth are not checked.
        """
        try:
            return self._decode(body)
        except (MsgspecError, ValueError, RecursionError):
            return None

    def read_table(self, body: bytes) -> dict[str, Json] | None:
        """Return the object of a body that its table certainly accepts unchanged; else None.

        Depth is not checked.
        """
        if b"\\u003" in body:  # a colon can be written so
            return None
        try:
            self._decode(body)
            table: dict[str, Json] = decode(body)  # in the order in which it was written
            written = encode(table)
        except (MsgspecError, ValueError, RecursionError):
            return None
        # Each key has a colon: a body with a key that is stated twice has one more.
        colons = len(written) - len(written.replace(b":", b""))
        return table if len(body) - len(body.replace(b":", b"")) == colons else None

    def is_whole(self, found: Any, body: bytes, written: bytes, left: int = 0) -> bool:
        """Return whether no key of a body occurs twice.

        `written` is JSON that has all keys except this many that are `left`, or at least some of them.
        """
        if body.find(b"\\") >= 0 and body.find(b"\\u003") >= 0:  # a colon can be written so
            return False
        # Each key has a colon; there are more in texts. (`count` looks at each byte, and takes longer.)
        colons = len(body) - len(body.replace(b":", b""))
        if colons == len(written) - len(written.replace(b":", b"")) + left:
            return True
        return colons == encode(found).count(b":")


class _Other:
    """A placeholder for what msgspec cannot express, such as a function."""


def _refuse_other(kind: type, value: Any) -> Any:
    raise ValidationError(f"no {kind}")


def _make_type(schema: Mapping[str, Any]) -> Any:
    schema = _find_usual_form(schema)
    kind = schema["type"]
    match kind:
        case "str" | "int" | "bool":
            return _limit_type({"str": str, "int": int, "bool": bool}[kind], schema)
        case "float":  # whole numbers stay what they are, unless they may be beyond a float
            whole = {"ge": ceil(schema.get("ge", -_LARGE)), "le": floor(schema.get("le", _LARGE))}
            return Union[_limit_type(int, {**schema, **whole}), _limit_type(float, schema)]  # noqa: UP007
        case "any":
            return Any
        case "literal":
            return Literal[tuple(schema["expected"])]
        case "nullable":
            return Union[_make_type(schema["schema"]), None]  # noqa: UP007
        case "typed-dict-field":
            return _make_type(schema["schema"])
        case "list":
            return _limit_type(list[_make_type(schema["items_schema"])], schema)  # type: ignore[misc]
        case "dict":
            return _limit_type(dict[_make_type(schema["keys_schema"]), _make_type(schema["values_schema"])], schema)  # type: ignore[misc]
        case "typed-dict":
            return _make_struct(schema)
        case "union":
            return _make_union([member for member, _ in schema["choices"]])
        case "tagged-union" if callable(schema["discriminator"]):
            return _make_union([*schema["choices"].values()])
        case "tagged-union":
            tagged = partial(_make_struct, tag_field=schema["discriminator"])
            return Union[tuple(tagged(member, tag=tag) for tag, member in schema["choices"].items())]  # noqa: UP007
    return _Other


def _find_usual_form(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    usual: Mapping[str, Any] = schema.get("metadata", {}).get("usual", schema)
    return usual


def _make_union(members: Sequence[Mapping[str, Any]]) -> Any:
    """Return a union of members that JSON itself distinguishes: a function that chooses one can use nothing else."""
    kinds = [_JSON_TYPES.get(_find_usual_form(member)["type"]) for member in members]
    if None in kinds or len({*kinds}) < len(kinds):
        return _Other
    types = [kind for kind in map(_make_type, members) if kind is not _Other]
    return Union[tuple(types)] if types else _Other  # noqa: UP007


_JSON_TYPES = {
    **dict.fromkeys(("str", "literal"), "a string"),
    **dict.fromkeys(("typed-dict", "dict", "tagged-union"), "an object"),
    **dict.fromkeys(("int", "float"), "a number"),
    "list": "an array",
    "bool": "a boolean",
}


def _limit_type(kind: Any, schema: Mapping[str, Any]) -> Any:
    limits = {name: schema[name] for name in _LIMITS if name in schema}
    if "pattern" in limits:  # `$` would also take a line feed at the end
        limits["pattern"] = limits["pattern"].removesuffix("$") + r"\Z"
    return Annotated[kind, Meta(**limits)] if limits else kind


_LARGE = 2**63 - 1
_LIMITS = ("ge", "le", "multiple_of", "min_length", "max_length", "pattern")


def _make_struct(
    schema: Mapping[str, Any], *, tag_field: str | None = None, tag: str | None = None, texts: Collection[str] = ()
) -> type[Struct]:
    known = _STRUCTS.get((id(schema), tag, *texts))
    if known is not None:
        return known[1]
    fields: list[Any] = []
    for name, field in schema["fields"].items():
        if name == tag_field:
            continue
        kind = Raw if name in texts else _make_type(field)
        fields.append((name, kind) if field["required"] else (name, Union[kind, UnsetType], UNSET))  # noqa: UP007
    constant: dict[str, Any] = {} if tag_field is None else {tag_field: tag}
    checks = {"__post_init__": schema["metadata"]["check"]} if "check" in schema.get("metadata", {}) else {}
    made = defstruct(
        "Body",
        fields,
        namespace={**constant, **checks},
        # Fields that the table does not name are for it to judge, unless it takes any.
        forbid_unknown_fields=schema["config"]["extra_fields_behavior"] != "allow",
        tag_field=tag_field,
        tag=tag,
        kw_only=True,
        gc=False,
    )
    _STRUCTS[id(schema), tag, *texts] = schema, made
    return made


# Those that were made, by the identity of their schema, which many fields share, their tag, and their texts.
_STRUCTS: dict[tuple[Any, ...], tuple[Mapping[str, Any], type[Struct]]] = {}
