"""What a rule wants of a call: fields and predicates, conditions made of them, and an index over many."""
