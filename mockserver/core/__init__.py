"""The vocabulary: frozen values that every floor shares. No I/O, no web, no YAML, no Faker."""
