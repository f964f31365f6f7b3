"""What to answer: rules first, then what is generated. Knows no wire shape."""
