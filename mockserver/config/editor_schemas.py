"""JSON Schemas of tables, for editors: pydantic makes them of what validates, with what tables and fields add."""

from inspect import cleandoc
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

JsonSchema = dict[str, Any]


class EditorSchemas(GenerateJsonSchema):
    """Makes one JSON Schema. The methods are those that pydantic has for others to override."""

    def generate_inner(self, schema: Any) -> JsonSchema:
        metadata = schema.get("metadata", {})
        if "make_json_schema" in metadata:
            made: JsonSchema = metadata["make_json_schema"](self)
            return made
        return {**super().generate_inner(schema), **metadata.get("shown", {})}

    def model_schema(self, schema: Any) -> JsonSchema:
        table = schema["cls"]
        about = {"title": schema["config"]["title"], "additionalProperties": False}
        if table.__doc__:
            about["description"] = cleandoc(table.__doc__)
        made: JsonSchema = table.change_json_schema({**about, **self.generate_inner(schema["schema"])})
        return made
