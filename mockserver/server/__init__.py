"""The web face: the only floor that imports Starlette."""
