"""Bodies read by msgspec at once, in types that are derived from the tables of fields.

Such a type accepts at most what its table accepts. What it refuses, or cannot be sure of, is for the table to judge.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Annotated, Any, Literal, Union

from msgspec import UNSET, Meta, MsgspecError, Raw, Struct, UnsetType, ValidationError, defstruct
from msgspec.json import Decoder, encode

from mockserver.core.lazy import lazy_property
from mockserver.dialects._fields import Schema


class TypedModel:
    """Reads bodies as structs with the fields of a table; a field that is not stated is UNSET.

    The fields in `texts` are left as they are written, as msgspec's Raw, for another model to read.
    """

    def __init__(self, schema: Schema, texts: Collection[str] = ()) -> None:
        self._schema, self._texts = schema, texts

    @lazy_property
    def _type(self) -> type[Struct]:
        return _struct_of(self._schema, texts=self._texts)

    @lazy_property
    def _decode(self) -> Callable[[bytes], Any]:
        return Decoder(self._type, dec_hook=_refuse_other).decode

    def read(self, body: bytes) -> Any:
        """The struct of a body; None if it is no valid JSON, or not surely what the table takes.

        Keys that are stated twice, and how deep it is, are not looked at.
        """
        try:
            return self._decode(body)
        except (MsgspecError, ValueError, RecursionError):
            return None

    def is_whole(self, found: Any, body: bytes, written: bytes, left: int = 0) -> bool:
        """Whether no key of a body was stated twice.

        `written` is JSON that has all keys but so many that are `left`, or at least some of them.
        """
        if body.find(b"\\") >= 0 and body.find(b"\\u003") >= 0:  # a colon can be written so
            return False
        # Each key has a colon; there are more in texts. (`count` looks at each byte, and takes longer.)
        colons = len(body) - len(body.replace(b":", b""))
        if colons == len(written) - len(written.replace(b":", b"")) + left:
            return True
        return colons == encode(found).count(b":")


class _Other:
    """In place of what msgspec cannot state, such as a function."""


def _refuse_other(kind: type, value: Any) -> Any:
    raise ValidationError(f"no {kind}")


def _type_of(schema: Mapping[str, Any]) -> Any:
    kind = schema["type"]
    match kind:
        case "str" | "int" | "bool":
            return _limited({"str": str, "int": int, "bool": bool}[kind], schema)
        case "float":  # whole numbers stay what they are
            return Union[_limited(int, schema), _limited(float, schema)]  # noqa: UP007
        case "any":
            return Any
        case "literal":
            return Literal[tuple(schema["expected"])]
        case "nullable":
            return Union[_type_of(schema["schema"]), None]  # noqa: UP007
        case "typed-dict-field":
            return _type_of(schema["schema"])
        case "list":
            return _limited(list[_type_of(schema["items_schema"])], schema)  # type: ignore[misc]
        case "dict":
            return dict[_type_of(schema["keys_schema"]), _type_of(schema["values_schema"])]  # type: ignore[misc]
        case "typed-dict":
            return _struct_of(schema)
        case "union":
            return Union[tuple(_type_of(member) for member, _ in schema["choices"])]  # noqa: UP007
        case "tagged-union" if isinstance(schema["discriminator"], str):
            tagged = partial(_struct_of, tag_field=schema["discriminator"])
            return Union[tuple(tagged(member, tag=tag) for tag, member in schema["choices"].items())]  # noqa: UP007
    return _Other


def _limited(kind: Any, schema: Mapping[str, Any]) -> Any:
    limits = {name: schema[name] for name in _LIMITS if name in schema}
    if "pattern" in limits:  # `$` would also take a line feed at the end
        limits["pattern"] = limits["pattern"].removesuffix("$") + r"\Z"
    return Annotated[kind, Meta(**limits)] if limits else kind


_LIMITS = ("ge", "le", "multiple_of", "min_length", "max_length", "pattern")


def _struct_of(
    schema: Mapping[str, Any], *, tag_field: str | None = None, tag: str | None = None, texts: Collection[str] = ()
) -> type[Struct]:
    fields: list[Any] = []
    for name, field in schema["fields"].items():
        if name == tag_field:
            continue
        kind = Raw if name in texts else _type_of(field)
        fields.append((name, kind) if field["required"] else (name, Union[kind, UnsetType], UNSET))  # noqa: UP007
    # Fields that the table does not name are for it to judge.
    tags = {} if tag is None else {"tag_field": tag_field, "tag": tag, "namespace": {tag_field: tag}}
    return defstruct("Body", fields, kw_only=True, forbid_unknown_fields=True, gc=False, **tags)  # type: ignore[arg-type]
