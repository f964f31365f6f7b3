"""Tables of settings and rules: classes whose annotated fields become schemas of pydantic-core.

pydantic makes the same of them, but importing it takes as long as all that a bare server does until it answers. Only
JSON Schemas, which are for editors, are made by it.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Set
from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeGuard, TypeVar, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import SchemaSerializer, SchemaValidator

Schema = dict[str, Any]
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
        return _with_metadata(self.limited(schema), **self.metadata)

    def limited(self, schema: Schema) -> Schema:
        limits = {name: value for name in _LIMITS if (value := getattr(self, name)) is not None}
        return _innermost(schema, limits) if limits else schema

    @property
    def metadata(self) -> Schema:
        shown = {name: value for name in ("description", "examples") if (value := getattr(self, name)) is not None}
        extra = {} if self.json_schema_extra is None else {"pydantic_js_extra": self.json_schema_extra}
        return {"pydantic_js_updates": shown, **extra} if shown else extra


field: Callable[..., Any] = FieldInfo  # what stands for a default may be of any type
_LIMITS = ("ge", "gt", "le", "min_length", "max_length", "allow_inf_nan", "discriminator")


def _innermost(schema: Schema, limits: Schema) -> Schema:
    """Limits apply to what functions and null surround."""
    if "schema" in schema:
        return {**schema, "schema": _innermost(schema["schema"], limits)}
    return {**schema, **limits}


def _with_metadata(schema: Schema, **metadata: Any) -> Schema:
    return {**schema, "metadata": {**schema.get("metadata", {}), **metadata}} if metadata else schema


def read_by(read: Callable[[Any], Any]) -> Change:
    """Change a schema, as metadata of a type or by a call: a function reads the values first."""
    function = {"type": "no-info", "function": read}
    return lambda schema: {"type": "function-before", "function": function, "schema": schema}


def checked_by(check: Callable[..., Any], kind: Literal["no-info", "with-info"] = "no-info") -> Change:
    """The same for a function that checks, or changes, the values at last; with info it gets the context, too."""
    return lambda schema: {"type": "function-after", "function": {"type": kind, "function": check}, "schema": schema}


def with_json_schema(make: Callable[[], dict[str, Any]]) -> Change:
    """Metadata of a type whose JSON Schema is not made of its schema."""
    return lambda schema: _with_metadata(schema, pydantic_js_annotation_functions=[lambda *_: make()])


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
        return SchemaValidator(schema_of(self.annotation))

    def __call__(self, _: Schema) -> Schema:
        function = {"type": "no-info", "function": lambda value: self._validator.validate_python(value)}
        plain = {"type": "function-plain", "function": function}
        return _with_metadata(plain, pydantic_js_annotation_functions=[self._show])

    def _show(self, _: Schema, handler: Any) -> Any:
        return handler.resolve_ref_schema(handler(schema_of(self.annotation)))


class LazyUnion(LazyType):
    """The same for several lazy types, tables of which a value's `type` selects one: only that one is made."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        super().__init__(
            lambda: Annotated[Union[*(get_args(table)[1].annotation for table in tables.values())], _BY_TYPE]
        )
        self.tables = tables

    def __call__(self, schema: Schema) -> Schema:
        choices = {name: _schema(table, {}) for name, table in self.tables.items()}
        union = {"type": "tagged-union", "choices": choices, "discriminator": "type"}
        return _with_metadata(union, pydantic_js_annotation_functions=[self._show])


_BY_TYPE = FieldInfo(discriminator="type")
T = TypeVar("T", bound="BaseTable")


class BaseTable:
    """A table with the annotated fields, and no others. It has the interface of pydantic's models.

    A subclass may read what is written in `_read`, check itself in `_check`, and change its JSON Schema in `_show`.
    """

    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")

    model_config: ClassVar[Schema] = {"extra": "forbid"}
    model_fields: ClassVar[dict[str, FieldInfo]] = {}
    model_keys: ClassVar[Mapping[str, str]] = {}  # the name of each field by its key in a file
    _keys: ClassVar[Mapping[str, tuple[int, str]]] = {}  # the place and the key of each field by its name
    example: ClassVar[str] = ""
    __pydantic_fields_set__: set[str]
    _validator: ClassVar[Callable[[], SchemaValidator]]
    _serializer: ClassVar[Callable[[], SchemaSerializer]]

    def __init_subclass__(cls, **config: Any) -> None:
        bases = [base for base in cls.__bases__ if issubclass(base, BaseTable)]
        cls.model_config = dict(ChainMap(config, *(base.model_config for base in reversed(bases))))
        cls.model_fields = dict(ChainMap(*(base.model_fields for base in reversed(bases))))
        cls._validator = cache(lambda: SchemaValidator(schema_of(cls)))
        cls._serializer = cache(lambda: SchemaSerializer(schema_of(cls)))
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
        """Raises ValidationError."""
        made: Self = cls._validator().validate_python(value, strict=strict, context=context)
        return made

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        from pydantic.json_schema import GenerateJsonSchema

        return GenerateJsonSchema().generate(schema_of(cls))

    @property
    def model_fields_set(self) -> set[str]:
        return self.__pydantic_fields_set__

    @property
    def stated_keys(self) -> list[str]:
        """The keys of the fields that are stated, in the order of the class."""
        keys = self._keys
        return [key for _, key in sorted([keys[name] for name in self.model_fields_set])]

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        return _restored(type(self), {**vars(self), **update}, self.model_fields_set | update.keys())

    def model_dump(self, **options: Any) -> Any:
        return self.__pydantic_serializer__.to_python(self, **options)

    @property
    def __pydantic_serializer__(self) -> SchemaSerializer:
        return type(self)._serializer()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), vars(self), self.model_fields_set)  # by default, copies set attributes

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        fields = self.model_fields
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if fields[name].repr)
        return f"{type(self).__name__}({shown})"


def _restored(table: type[T], values: dict[str, Any], stated: Set[str]) -> T:
    made = object.__new__(table)
    object.__setattr__(made, "__dict__", {**values})
    object.__setattr__(made, "__pydantic_fields_set__", {*stated})
    return made


def make_table(name: str, base: type[T], fields: Mapping[str, tuple[Any, FieldInfo]], **attributes: Any) -> type[T]:
    """A table of this name whose fields are known only now: the type of each, and what else is known of it."""
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    defaults = {name: default for name, (_, default) in fields.items()}
    return type(name, (base,), {**defaults, "__annotations__": annotations, **attributes})


def schema_of(kind: Any) -> Any:
    """The schema of a type. A text in an annotation names a table that it is in."""
    definitions: Schema = {}
    schema = _schema(kind, definitions)
    return {"type": "definitions", "schema": schema, "definitions": [*definitions.values()]} if definitions else schema


def is_table(kind: Any) -> TypeGuard[type[BaseTable]]:
    return isinstance(kind, type) and issubclass(kind, BaseTable)


def _schema(kind: Any, definitions: Schema) -> Schema:
    """The same, but the tables in it become definitions."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        written = next((each.annotation for each in args if isinstance(each, WrittenAs)), args[0])
        schema = _schema(written, definitions)
        for each in args[1:]:
            schema = each(schema) if callable(each) else schema
        return schema
    if origin is Literal:
        return {"type": "literal", "expected": [*args]}
    if origin in (Union, UnionType):
        return _union([each for each in args if each is not type(None)], definitions, nullable=type(None) in args)
    inner = [_schema(each, definitions) for each in args if each is not ...]
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
            definitions[name] = {**_model(kind, definitions), "ref": name}
        return {"type": "definition-ref", "schema_ref": name}
    return {"type": kind.__name__ if kind in (str, int, float, bool) else "any"}


def _union(kinds: list[Any], definitions: Schema, *, nullable: bool) -> Schema:
    if len(kinds) == 1:
        schema = _schema(kinds[0], definitions)
        return {"type": "nullable", "schema": schema} if nullable else schema
    return {"type": "tagged-union", "choices": {_tag(kind): _schema(kind, definitions) for kind in kinds}}


def _tag(kind: Any) -> str:
    """By what a type of a union is selected: its tag, or the `type` of a table."""
    tagged = next((each.tag for each in get_args(kind) if isinstance(each, Tag)), None)
    return tagged or str(get_args(kind.model_fields["type"].annotation)[0])


def _model(table: type[BaseTable], definitions: Schema) -> Schema:
    fields = {name: _field(each, definitions) for name, each in table.model_fields.items()}
    schema: Schema = {"type": "model-fields", "fields": fields, "model_name": table.__name__}
    for base in reversed(table.__mro__):
        if "_read" in vars(base):
            schema = read_by(vars(base)["_read"].__get__(None, table))(schema)
    config = {"extra_fields_behavior": "forbid", "title": table.__name__, **table.model_config}
    shown = {"pydantic_js_functions": [table._show]} if hasattr(table, "_show") else {}
    model: Schema = {"type": "model", "cls": table, "schema": schema, "config": config, "metadata": shown}
    return checked_by(table._check)(model) if hasattr(table, "_check") else model


def _field(each: FieldInfo, definitions: Schema) -> Schema:
    schema = each.limited(_schema(each.annotation, definitions))
    if each.default_factory is not None:
        schema = {"type": "default", "schema": schema, "default_factory": each.default_factory}
    elif each.default is not ...:
        schema = {"type": "default", "schema": schema, "default": each.default}
    names = {} if each.alias is None else {"validation_alias": each.alias, "serialization_alias": each.alias}
    return {"type": "model-field", "schema": schema, "metadata": each.metadata, **names}
