"""The shape of a rules file: models, what is wrong with a file in plain words, the schema for editors."""
