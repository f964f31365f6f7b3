"""The schema language of settings and rules files: tables, which are classes whose annotated fields are validated.

There is one for both: `Settings` is a BaseTable and converts texts, as flags and variables hold nothing else; what
stands in a rules file is a Table, which is strict. Their names are those of pydantic, and pydantic-core validates them.

Pydantic's own classes are not used, as every start would pay for them. The first answer of `mockserver serve` costs
223 ms of CPU on the machine where this was measured. With an import of `pydantic.BaseModel` it costs 257 ms, and with
as many models as there are tables 304 ms, while importing, building and using all tables takes 18 ms (pydantic 2.14,
Python 3.11, with bytecode; a start may become 3 % slower). msgspec reports only the first error, so it cannot report
every mistake of a file.
Pydantic makes only the JSON Schemas, which are for editors (`editor_schemas.py`).
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Set
from functools import cache, cached_property
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import PydanticCustomError, SchemaValidator

from mockserver.core.json import Json

if TYPE_CHECKING:
    from mockserver.config.editor_schemas import EditorSchemas

Schema = dict[str, Any]
JsonSchema = dict[str, Any]
Change = Callable[[Schema], Schema]  # metadata of a type, which changes its schema


class FieldInfo(Struct, eq=False):
    """A field of a table, required without a default; or metadata of a type: its limits, and what editors show."""

    default: Any = ...
    default_factory: Callable[[], Any] | None = None
    alias: str | None = None
    description: str | None = None
    examples: list[Any] | None = None
    json_schema_extra: Mapping[str, Any] | None = None
    repr: bool = True
    annotation: Any = None
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    allow_inf_nan: bool | None = None
    discriminator: str | None = None  # the key by which the tables of a union differ

    def __call__(self, schema: Schema) -> Schema:
        return _add_metadata(self.limit(schema), **self.metadata)

    def limit(self, schema: Schema) -> Schema:
        """Return the schema with the limits of this field."""
        limits = {name: value for name in _LIMITS if (value := getattr(self, name)) is not None}
        return _limit_innermost(schema, limits) if limits else schema

    @property
    def metadata(self) -> Schema:
        shown = {name: value for name in ("description", "examples") if (value := getattr(self, name)) is not None}
        return {"shown": {**shown, **(self.json_schema_extra or {})}}


field: Callable[..., Any] = FieldInfo  # what stands for a default may be of any type
_LIMITS = ("ge", "gt", "le", "min_length", "max_length", "allow_inf_nan", "discriminator")


def _limit_innermost(schema: Schema, limits: Schema) -> Schema:
    # Limits apply to what functions and null surround.
    if "schema" in schema:
        return {**schema, "schema": _limit_innermost(schema["schema"], limits)}
    return {**schema, **limits}


def _add_metadata(schema: Schema, **metadata: Any) -> Schema:
    """Add what `editor_schemas` reads: keys that are `shown`, or what makes the whole JSON Schema."""
    return {**schema, "metadata": {**schema.get("metadata", {}), **metadata}}


class BeforeValidator(Struct, frozen=True):
    """Metadata of a type, or a change of a schema: a function reads the values before they are validated."""

    function: Callable[[Any], Any]

    def __call__(self, schema: Schema) -> Schema:
        return {"type": "function-before", "function": {"type": "no-info", "function": self.function}, "schema": schema}


class AfterValidator(Struct, frozen=True):
    """Metadata of a type, or a change of a schema: a function checks or changes the values once they are valid.

    With `with_info`, it gets the context, too.
    """

    function: Callable[..., Any]
    with_info: bool = False

    def __call__(self, schema: Schema) -> Schema:
        kind = "with-info" if self.with_info else "no-info"
        return {"type": "function-after", "function": {"type": kind, "function": self.function}, "schema": schema}


class WithJsonSchema(Struct, frozen=True):
    """Metadata of a type whose JSON Schema is not made of its schema, but by a function."""

    make: Callable[[], dict[str, Any]]

    def __call__(self, schema: Schema) -> Schema:
        return _add_metadata(schema, make_json_schema=lambda _: self.make())


class Tag(Struct, frozen=True):
    """Metadata of a type in a union: what `discriminator` returns for its values."""

    tag: str


class WrittenAs(Struct, frozen=True):
    """Metadata of a type whose values are written in another form, such as a table."""

    annotation: Any


class LazyType:
    """Metadata of `Any`: values are validated as a type that is made for the first of them, as making it is slow."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def annotation(self) -> Any:
        return self._make()

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(build_schema(self.annotation))

    def __call__(self, _: Schema) -> Schema:
        function = {"type": "no-info", "function": lambda value: self._validator.validate_python(value)}
        plain = {"type": "function-plain", "function": function}
        return _add_metadata(plain, make_json_schema=self._make_json_schema)

    def _make_json_schema(self, editors: "EditorSchemas") -> JsonSchema:
        return editors.resolve_ref_schema(editors.generate_inner(build_schema(self.annotation)))


class LazyUnion(LazyType):
    """Metadata of `Any`: lazy types of tables, of which a value's `type` selects one. Only that one is made."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        super().__init__(
            lambda: Annotated[Union[*(get_args(table)[1].annotation for table in tables.values())], _BY_TYPE]
        )
        self.tables = tables

    def __call__(self, schema: Schema) -> Schema:
        choices = {name: _build(table, {}) for name, table in self.tables.items()}
        union = {"type": "tagged-union", "choices": choices, "discriminator": "type"}
        return _add_metadata(union, make_json_schema=self._make_json_schema)


_BY_TYPE = FieldInfo(discriminator="type")
T = TypeVar("T", bound="BaseTable")


class BaseTable:
    """A table with the annotated fields, and no others. It has the interface of pydantic's models.

    A subclass may have methods that read what is written (`_read`), that check the made table (`_check`), and that
    change its JSON Schema (`change_json_schema`).
    """

    # pydantic_core.core_schema.model_schema wants these
    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")

    model_config: ClassVar[Schema] = {}
    model_fields: ClassVar[dict[str, FieldInfo]] = {}
    model_keys: ClassVar[Mapping[str, str]] = {}  # the name of each field by its key in a file
    _keys: ClassVar[Mapping[str, tuple[int, str]]] = {}  # the place and the key of each field by its name
    example: ClassVar[str] = ""  # of a table, as YAML: what was expected where something else stands
    __pydantic_fields_set__: set[str]
    _validator: ClassVar[Callable[[], SchemaValidator]]

    def __init_subclass__(cls, **config: Any) -> None:
        bases = [base for base in cls.__bases__ if issubclass(base, BaseTable)]
        cls.model_config = dict(ChainMap(config, *(base.model_config for base in reversed(bases))))
        cls.model_fields = dict(ChainMap(*(base.model_fields for base in reversed(bases))))
        cls._validator = cache(lambda: SchemaValidator(build_schema(cls)))
        for name, annotation in cls.__annotations__.items():
            if ClassVar not in (annotation, get_origin(annotation)):
                given = vars(cls).get(name, ...)
                made = given if isinstance(given, FieldInfo) else FieldInfo(given)
                cls.model_fields[name] = replace(made, annotation=annotation)
                if name in vars(cls):
                    delattr(cls, name)
        cls.model_keys = {each.alias or name: name for name, each in cls.model_fields.items()}
        cls._keys = {name: (at, key) for at, (key, name) in enumerate(cls.model_keys.items())}

    def __init__(self, **values: Any) -> None:
        type(self)._validator().validate_python(values, self_instance=self)

    @classmethod
    def model_validate(cls, value: Any, *, strict: bool | None = None, context: Schema | None = None) -> Self:
        """Validate a value. Raises ValidationError."""
        made: Self = cls._validator().validate_python(value, strict=strict, context=context)
        return made

    @classmethod
    def model_json_schema(cls) -> JsonSchema:
        from mockserver.config.editor_schemas import EditorSchemas  # pydantic is slow to import

        return EditorSchemas().generate(build_schema(cls))

    @classmethod
    def change_json_schema(cls, schema: JsonSchema) -> JsonSchema:
        """Return the JSON Schema that editors get, of the one that describes the fields."""
        return schema

    @property
    def model_fields_set(self) -> set[str]:
        return self.__pydantic_fields_set__

    @property
    def stated_keys(self) -> list[str]:
        """Return the keys of the fields that are stated, in the order of the class."""
        keys = self._keys
        return [key for _, key in sorted([keys[name] for name in self.model_fields_set])]

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        return _restore(type(self), {**vars(self), **update}, self.model_fields_set | update.keys())

    def model_dump(
        self,
        *,
        exclude: Set[str] = frozenset(),
        exclude_none: bool = False,
        exclude_unset: bool = False,
        by_alias: bool = False,
    ) -> dict[str, Any]:
        """Return the fields by their names, or by their keys in a file, as plain values; tables in them, too."""

        def dump(value: Any) -> Any:
            if isinstance(value, BaseTable):
                return value.model_dump(exclude_none=exclude_none, exclude_unset=exclude_unset, by_alias=by_alias)
            if isinstance(value, Mapping):
                return {key: dump(each) for key, each in value.items()}
            return type(value)(map(dump, value)) if type(value) in (list, tuple) else value

        kept = self.model_fields_set if exclude_unset else vars(self).keys()
        found = {name: value for name, value in vars(self).items() if name in kept and name not in exclude}
        return {
            self._keys[name][1] if by_alias else name: dump(value)
            for name, value in found.items()
            if not (exclude_none and value is None)
        }

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), vars(self), self.model_fields_set)  # by default, copies set attributes

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        fields = self.model_fields
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if fields[name].repr)
        return f"{type(self).__name__}({shown})"


def _restore(table: type[T], values: dict[str, Any], stated: Set[str]) -> T:
    made = object.__new__(table)
    object.__setattr__(made, "__dict__", {**values})
    object.__setattr__(made, "__pydantic_fields_set__", {*stated})
    return made


class Table(BaseTable, strict=True):
    """A table of a rules file: no unknown keys, no conversions, no key without a value.

    `nullable` keys may hold nothing; `instead` says what to write in place of keys that people take from elsewhere.
    """

    nullable: ClassVar[frozenset[str]] = frozenset()
    instead: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def _read(cls, table: Json) -> Json:
        if isinstance(table, Mapping):
            for key, value in table.items():
                if value is None and key not in cls.nullable:
                    raise PydanticCustomError("empty", "empty", {"key": str(key)})
        return table

    @classmethod
    def change_json_schema(cls, schema: JsonSchema) -> JsonSchema:
        from mockserver.config.source import read  # only editors need it

        return {**schema, "examples": [read(cls.example, "an example").data]} if cls.example else schema


class ByShape(Struct, frozen=True):
    """Metadata of a union: the shape of a value chooses the alternative, so that errors refer to the intended one.

    The alternatives are marked: `AsText[str] | AsTable[ErrorSpec]`. `expected` are words for a value of no such shape.
    """

    expected: str

    def __call__(self, union: Schema) -> Schema:
        errors = {"custom_error_type": "expected", "custom_error_message": self.expected}
        return {**union, "discriminator": _find_shape, **errors}


def _find_shape(value: Json) -> str:
    match value:
        case bool() | None:
            return "<other>"
        case int() | float():
            return "<number>"
        case str():
            return "<text>"
        case Mapping() | Table():
            return "<table>"
    return "<list>" if isinstance(value, list) else "<other>"


NonNegativeInt = Annotated[int, field(ge=0)]
A = TypeVar("A")
AsNumber = Annotated[A, Tag("<number>")]
AsText = Annotated[A, Tag("<text>")]
AsTable = Annotated[A, Tag("<table>")]
AsList = Annotated[A, Tag("<list>")]
TextOrNumber = Annotated[AsText[str] | AsNumber[int], ByShape("a string or a whole number")]
Headers = dict[str, TextOrNumber]


def make_table(name: str, base: type[T], fields: Mapping[str, tuple[Any, FieldInfo]], **attributes: Any) -> type[T]:
    """Make a table of this name whose fields are known only now: the type of each, and what else is known of it."""
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    defaults = {name: default for name, (_, default) in fields.items()}
    return type(name, (base,), {**defaults, "__annotations__": annotations, **attributes})


def build_schema(kind: Any) -> Any:
    """Build the schema of a type for pydantic-core. A text in an annotation names a table that it is in."""
    definitions: Schema = {}
    schema = _build(kind, definitions)
    return {"type": "definitions", "schema": schema, "definitions": [*definitions.values()]} if definitions else schema


def is_table(kind: Any) -> TypeGuard[type[BaseTable]]:
    return isinstance(kind, type) and issubclass(kind, BaseTable)


def _build(kind: Any, definitions: Schema) -> Schema:
    """Build the schema of a type; the tables in it become definitions."""
    origin = get_origin(kind)
    args = get_args(kind)
    if origin is Annotated:
        written = next((each.annotation for each in args if isinstance(each, WrittenAs)), args[0])
        schema = _build(written, definitions)
        for each in args[1:]:
            schema = each(schema) if callable(each) else schema
        return schema
    if origin is Literal:
        return {"type": "literal", "expected": [*args]}
    if origin in (Union, UnionType):
        return _build_union([each for each in args if each is not type(None)], definitions, nullable=type(None) in args)
    inner = [_build(each, definitions) for each in args if each is not ...]
    if origin is list:
        return {"type": "list", "items_schema": inner[0]}
    if origin is tuple:
        return {"type": "tuple", "items_schema": inner, "variadic_item_index": 0}
    if origin in (dict, Mapping):
        loose = {} if origin is dict else {"strict": False}
        return {"type": "dict", "keys_schema": inner[0], "values_schema": inner[1], **loose}
    if is_table(kind) or isinstance(kind, str):
        name = kind if isinstance(kind, str) else kind.__name__
        if is_table(kind) and name not in definitions:
            definitions[name] = {}  # it may contain itself
            definitions[name] = {**_build_table(kind, definitions), "ref": name}
        return {"type": "definition-ref", "schema_ref": name}
    return {"type": kind.__name__ if kind in (str, int, float, bool) else "any"}


def _build_union(kinds: list[Any], definitions: Schema, *, nullable: bool) -> Schema:
    if len(kinds) == 1:
        schema = _build(kinds[0], definitions)
        return {"type": "nullable", "schema": schema} if nullable else schema
    return {"type": "tagged-union", "choices": {_find_tag(kind): _build(kind, definitions) for kind in kinds}}


def _find_tag(kind: Any) -> str:
    """Return what selects a type of a union: its tag, or the `type` of a table."""
    tagged = next((each.tag for each in get_args(kind) if isinstance(each, Tag)), None)
    return tagged or str(get_args(kind.model_fields["type"].annotation)[0])


def _build_table(table: type[BaseTable], definitions: Schema) -> Schema:
    fields = {name: _build_field(each, definitions) for name, each in table.model_fields.items()}
    schema: Schema = {"type": "model-fields", "fields": fields, "model_name": table.__name__}
    for base in reversed(table.__mro__):
        if "_read" in vars(base):
            schema = BeforeValidator(vars(base)["_read"].__get__(None, table))(schema)
    config = {"extra_fields_behavior": "forbid", "title": table.__name__, **table.model_config}
    model: Schema = {"type": "model", "cls": table, "schema": schema, "config": config}
    return AfterValidator(table._check)(model) if hasattr(table, "_check") else model


def _build_field(each: FieldInfo, definitions: Schema) -> Schema:
    schema = each.limit(_build(each.annotation, definitions))
    if each.default_factory is not None:
        schema = {"type": "default", "schema": schema, "default_factory": each.default_factory}
    elif each.default is not ...:
        schema = {"type": "default", "schema": schema, "default": each.default}
    names = {} if each.alias is None else {"validation_alias": each.alias, "serialization_alias": each.alias}
    return {"type": "model-field", "schema": schema, "metadata": each.metadata, **names}
