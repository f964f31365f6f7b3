"""Pictures and sounds, made of nothing but arithmetic: the same bytes on every machine, whatever libraries it has."""
