"""Which rules a test run used: their steps, branches and faults too. As a table, a page, and JSON.

To watch costs next to nothing, and imports next to nothing.
"""
