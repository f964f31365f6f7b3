"""The vocabulary: values that every floor shares, nearly all of them frozen. No I/O, no web, no YAML, no Faker."""
