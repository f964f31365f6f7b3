"""The types that request models are made of: a model is a table of fields, which pydantic-core validates.

A type is a Python type, or a schema of pydantic-core as pydantic would make it of annotations, which takes much longer.
Members of unions have labels such as `<a string>`, by which complaints name them. `TypedModel` derives types of msgspec
from a table, which read usual bodies faster.

The functions that make types are a vocabulary, and are called like what they make, so that a table reads as a type:
`shape(stop=optional(list_of(text(1, 64))))`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import ceil, floor
from typing import Annotated, Any, Literal, NamedTuple, Union

from msgspec import UNSET, Meta, MsgspecError, Raw, Struct, UnsetType, defstruct
from msgspec import ValidationError as MsgspecValidationError
from msgspec.json import Decoder, decode, encode
from pydantic_core import SchemaValidator, ValidationError

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.validation import Validation

Type = Any
Schema = dict[str, Any]


def schema_of(kind: Type) -> Any:
    """Return the schema of a type: of a schema, itself."""
    return kind if isinstance(kind, dict) else {"type": _NAMES[kind]}


_NAMES: Mapping[Any, str] = {Any: "any", **{kind: kind.__name__ for kind in (str, int, float, bool)}}


def shape(others: str = "ignore", /, **fields: Type) -> Schema:
    """Return the type of an object with these fields, required unless their types say otherwise.

    `others` says what is done with other fields: ignore, allow (and keep) or forbid.
    """
    config = {"strict": True, "extra_fields_behavior": others}
    return {
        "type": "typed-dict",
        "fields": {name: _read_field(kind) for name, kind in fields.items()},
        "config": config,
    }


def open_shape(**fields: Type) -> Schema:
    """Return the type of an object that may have any other fields, too."""
    return shape("allow", **fields)


def closed_shape(**fields: Type) -> Schema:
    """Return the type of an object that must not have other fields."""
    return shape("forbid", **fields)


def _read_field(kind: Type) -> Schema:
    schema: Schema = schema_of(kind)
    return schema if schema["type"] == "typed-dict-field" else {**not_null(schema), "required": True}


def fields_of(body: Schema, *names: str) -> Schema:
    """Return some fields of a body, for another body that shares them."""
    return {name: body["fields"][name] for name in names}


def not_null(kind: Type) -> Schema:
    """Return the type of a field that may be missing, but not null."""
    return {"type": "typed-dict-field", "schema": schema_of(kind), "required": False}


def optional(kind: Type) -> Schema:
    """Return the type of a field that may be missing or null."""
    return not_null(nullable(kind))


def nullable(kind: Type) -> Schema:
    """Return the type of values of another type, and of null."""
    return {"type": "nullable", "schema": schema_of(kind)}


def literal(*allowed: str) -> Schema:
    return {"type": "literal", "expected": [*allowed]}


def text(least: int | None = None, most: int | None = None, *, pattern: str | None = None) -> Schema:
    return _limit_type("str", min_length=least, max_length=most, pattern=pattern)


def number(least: float | None = None, most: float | None = None, *, multiple_of: float | None = None) -> Schema:
    return _limit_type("float", ge=least, le=most, multiple_of=multiple_of)


def integer(least: int | None = None, most: int | None = None) -> Schema:
    return _limit_type("int", ge=least, le=most)


def _limit_type(name: str, **limits: Json) -> Schema:
    return {"type": name, **{limit: value for limit, value in limits.items() if value is not None}}


def mapping(kind: Type, *, keys: Type = str) -> Schema:
    return {"type": "dict", "keys_schema": schema_of(keys), "values_schema": schema_of(kind)}


def list_of(kind: Type, least: int | None = None, most: int | None = None, *, fail_fast: bool = True) -> Schema:
    """Return the type of a list; `fail_fast`: only its first wrong element is reported."""
    return _limit_type("list", items_schema=schema_of(kind), min_length=least, max_length=most, fail_fast=fail_fast)


def label_member(name: str, kind: Type) -> Schema:
    """Return a member of a union with a label, such as `<a string>`."""
    return _add_metadata(kind, label=name)


def usually(simple: Type, kind: Type) -> Schema:
    """Return a type together with a simple one that msgspec can express, and that accepts a part of its values."""
    return _add_metadata(kind, usual=schema_of(simple))


def check_shape(check: Callable[[Any], None], usual: Schema) -> Schema:
    """Return a simple table whose values a function checks, too; it raises ValueError if they are wrong."""
    return _add_metadata(usual, check=check)


def _add_metadata(kind: Type, **more: Any) -> Schema:
    schema = schema_of(kind)
    return {**schema, "metadata": {**schema.get("metadata", {}), **more}}


def union(*members: Schema) -> Schema:
    return {"type": "union", "choices": [(member, _label(member)) for member in members]}


def _label(member: Schema) -> str:
    return str(member["metadata"]["label"])


def tag_union(key: str, *members: Schema) -> Schema:
    """Return a union whose members have different values of this field."""
    choices = {value: member for member in members for value in member["fields"][key]["schema"]["expected"]}
    return {"type": "tagged-union", "choices": choices, "discriminator": key}


def union_by(tag: Callable[[Any], str | None], *members: Schema) -> Schema:
    """Return a union whose function names the label of the member that a value is meant to be."""
    return {"type": "tagged-union", "choices": {_label(member): member for member in members}, "discriminator": tag}


def text_or(name: str, kind: Type) -> Schema:
    """Return the type of a text, or of values of another type, which complaints call by this name."""
    return union(STRING, label_member(name, kind))


def text_or_list(kind: Type, *, most: int | None = None) -> Schema:
    """Return the type of a text or a list; any other value is refused as not a text."""
    return _text_unless(list, "<a list>", list_of(kind, most=most))


def text_or_object(kind: Type) -> Schema:
    """Return the type of a text or an object; any other value is refused as not a text."""
    return _text_unless(dict, "<an object>", kind)


def _text_unless(other: type, name: str, kind: Type) -> Schema:
    return union_by(lambda value: name if isinstance(value, other) else "<a string>", STRING, label_member(name, kind))


def voice_of(*names: str) -> Schema:
    """Return the type of a voice that speaks: one of the provider's, or the id of one that the user has made."""
    return union(label_member("<a string>", literal(*names)), label_member("<an object>", shape(id=str)))


STRING = label_member("<a string>", str)
Object = mapping(Any)


class TypedModel:
    """Reads bodies by msgspec in one step, as structs with the fields of a table; a missing field is UNSET.

    It accepts at most what the table accepts. If it refuses a body, or cannot be certain, the table decides. The fields
    in `texts` are kept as msgspec's Raw, for another model to read.
    """

    def __init__(self, schema: Mapping[str, Any], texts: Collection[str] = ()) -> None:
        self._schema = schema
        self._texts = texts

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
            table: dict[str, Json] = decode(body)  # keys stay in the order in which they were written
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
    raise MsgspecValidationError(f"no {kind}")


def _make_type(schema: Mapping[str, Any]) -> Any:
    schema = _find_usual_form(schema)
    kind = schema["type"]
    match kind:
        case "str" | "int" | "bool":
            return _limit({"str": str, "int": int, "bool": bool}[kind], schema)
        case "float":  # whole numbers stay what they are, unless they may be beyond a float
            whole = {"ge": ceil(schema.get("ge", -_MAX_INT64)), "le": floor(schema.get("le", _MAX_INT64))}
            return Union[_limit(int, {**schema, **whole}), _limit(float, schema)]  # noqa: UP007
        case "any":
            return Any
        case "literal":
            return Literal[tuple(schema["expected"])]
        case "nullable":
            return Union[_make_type(schema["schema"]), None]  # noqa: UP007
        case "typed-dict-field":
            return _make_type(schema["schema"])
        case "list":
            return _limit(list[_make_type(schema["items_schema"])], schema)  # type: ignore[misc]
        case "dict":
            return _limit(dict[_make_type(schema["keys_schema"]), _make_type(schema["values_schema"])], schema)  # type: ignore[misc]
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


def _limit(kind: Any, schema: Mapping[str, Any]) -> Any:
    limits = {name: schema[name] for name in _LIMITS if name in schema}
    if "pattern" in limits:  # `$` would also take a line feed at the end
        limits["pattern"] = limits["pattern"].removesuffix("$") + r"\Z"
    return Annotated[kind, Meta(**limits)] if limits else kind


_MAX_INT64 = 2**63 - 1
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


class Reading(NamedTuple):
    """A body with all its usable values, and what a model made of it, with only known keys."""

    body: Mapping[str, Json]
    parsed: Any


class BodyModel:
    """The valid form of a body; built when it is first used.

    No call can be made of a body without the `needed` fields (by default, all required ones). If nothing is checked,
    functions read fields that may have other forms: the values of those in `conversation` are used as they are, and
    must not be empty; the values of those in `lenient` are then read like any other field.
    """

    def __init__(
        self,
        schema: Schema,
        needed: Collection[str] | None = None,
        *,
        conversation: Mapping[str, Callable[[Json], list[dict[str, Json]]]] | None = None,
        lenient: Mapping[str, Callable[[Json], Json]] | None = None,
    ) -> None:
        self.schema = schema
        self.fields = frozenset(schema["fields"])
        required = [name for name, field in schema["fields"].items() if field["required"]]
        self._needed = required if needed is None else needed
        self._conversation = conversation or {}
        self._lenient = lenient or {}

    def read(self, body: Mapping[str, Json], validation: Validation) -> Reading:
        """Return a body as this model reads it; if nothing is checked, without wrong values.

        Raises pydantic's ValidationError.
        """
        if validation is Validation.OFF and (given := self._read_lenient(body)) is not None:
            with suppress(ValidationError):
                known = self._salvage(given)
                is_open = self.schema["config"]["extra_fields_behavior"] != "forbid"
                others = {key: value for key, value in given.items() if is_open and key not in self.fields}
                return Reading({**others, **known}, known)
        return Reading(body, self.validate(body))

    def _read_lenient(self, body: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Return the body with the readable values of its fields; None if it has no conversation."""
        conversation = {key: read(body[key]) for key, read in self._conversation.items() if key in body}
        if not all(conversation.get(key) for key in self._conversation if key in self._needed):
            return None
        return {**body, **conversation, **{key: read(body[key]) for key, read in self._lenient.items() if key in body}}

    def knows_all_but_names(self, body: Json) -> bool:
        """Return whether a body is valid except for unknown fields, members of unions and words."""
        try:
            self._validate_open(body)
        except ValidationError:
            return False
        return True

    @lazy_property
    def typed(self) -> TypedModel:
        """The model in types of msgspec, which accept only what `validate` accepts."""
        return TypedModel(self.schema)

    @lazy_property
    def validate(self) -> Callable[[Json], Any]:
        """A function that returns the validated value, or raises pydantic's ValidationError."""
        return SchemaValidator(self.schema).validate_python

    @lazy_property
    def _salvage(self) -> Callable[[Json], Any]:
        """A function like `validate` that leaves out wrong values, with as little around them as possible."""
        anything = shape(**dict.fromkeys(self._conversation, optional(list_of(Object))))["fields"]
        known = {**self.schema["fields"], **anything}
        fields = {name: {**field, "required": name in self._needed} for name, field in known.items()}
        return SchemaValidator(_forgive({**self.schema, "fields": fields})).validate_python

    @lazy_property
    def _validate_open(self) -> Callable[[Json], Any]:
        return SchemaValidator(_admit_new_names(self.schema)).validate_python


def _forgive(schema: Schema) -> Schema:
    """Return a schema whose lists and tables leave out wrong values, and may be empty."""
    forgiving = _change_within(schema, _forgive)
    match schema["type"]:
        case "list":
            forgiving["items_schema"] = _omit_if_wrong(forgiving.get("items_schema", {"type": "any"}))
            forgiving.pop("min_length", None)
            forgiving["fail_fast"] = False
        case "str":
            for bound in ("min_length", "max_length", "pattern"):
                forgiving.pop(bound, None)
        case "typed-dict":
            for field in forgiving["fields"].values():
                if not field["required"]:
                    field["schema"] = _omit_if_wrong(field["schema"])
            if schema["config"]["extra_fields_behavior"] == "forbid":
                forgiving["config"] = {**schema["config"], "extra_fields_behavior": "ignore"}
    return forgiving


def _omit_if_wrong(schema: Schema) -> Schema:
    return {"type": "default", "schema": schema, "on_error": "omit"}


def _admit_new_names(schema: Schema) -> Schema:
    """Return a schema that also accepts unknown fields, members of unions and words."""
    admitting = _change_within(schema, _admit_new_names)
    match schema["type"]:
        case "literal":
            return {"type": "str"}
        case "typed-dict":
            admitting["config"] = {**schema["config"], "extra_fields_behavior": "allow"}
        case "tagged-union":
            admitting["choices"][_NEW] = {"type": "any"}
            admitting["discriminator"] = _tag_known_or_new(schema["discriminator"], schema["choices"])
    return admitting


def _change_within(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a copy of a schema with each of the schemas directly in it changed."""
    changed = {**schema, **{key: change(schema[key]) for key in _INNER if key in schema}}
    if "fields" in schema:
        changed["fields"] = {name: change(field) for name, field in schema["fields"].items()}
    match schema.get("choices"):
        case dict() as tagged:
            changed["choices"] = {tag: change(member) for tag, member in tagged.items()}
        case list() as labelled_members:
            changed["choices"] = [(change(member), label) for member, label in labelled_members]
    return changed


_INNER = ("schema", "items_schema", "keys_schema", "values_schema")


def _tag_known_or_new(
    discriminator: str | Callable[[Any], str | None], known: Collection[str]
) -> Callable[[Any], Json]:
    """Return a discriminator that passes unknown tags to the member that accepts anything."""

    def find_tag(value: Any) -> Json:
        if callable(discriminator):
            tag = discriminator(value)
        else:
            tag = value.get(discriminator) if isinstance(value, dict) else None
        return _NEW if isinstance(tag, str) and tag not in known else tag

    return find_tag


_NEW = "<new>"
