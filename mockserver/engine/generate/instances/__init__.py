"""Instances of JSON Schemas, part by part: documents and references, alternatives, objects, arrays, strings, numbers."""
