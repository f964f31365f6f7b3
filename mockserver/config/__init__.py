"""Settings, the types that people write their values in, YAML with file:line:column, and errors."""
