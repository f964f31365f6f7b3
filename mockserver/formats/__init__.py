"""Shapes: an Answer becomes a JSON body or an iterator of frames. Knows no provider, no pace, no rule."""
