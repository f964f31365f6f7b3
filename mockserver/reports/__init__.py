"""Why tests fail, as text: what was expected and what was received. Independent of any test runner."""
