"""Sources as syntax trees, each read and walked once: a dozen checks look through the whole house."""

import ast
from collections.abc import Sequence
from functools import cache


@cache
def parse(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def find_nodes(source: str) -> Sequence[ast.AST]:
    """Return all nodes of a source, as `ast.walk` does."""
    return tuple(ast.walk(parse(source)))
