"""What a rule requires of a call: fields, predicates, conditions made of them, and an index over many conditions."""
