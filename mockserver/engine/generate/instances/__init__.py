"""Instances of JSON Schemas: documents and references, alternatives, objects, arrays, strings, numbers."""
