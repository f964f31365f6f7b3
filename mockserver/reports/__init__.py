"""What went wrong in a test, as text for people: what was wanted held against what came. Knows no test runner."""
