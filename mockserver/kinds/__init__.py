"""How people write the values of settings and rules, and what each comes to.

Knows no setting by name, and nothing of files, flags or variables.
"""
