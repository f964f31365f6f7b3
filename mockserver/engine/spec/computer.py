"""What the model asks a computer to do, as a rule writes it: one table for each action of `computer_call`.

The actions are OpenAI's and those that Tzafon adds (`wire/tzafon-responses.md`).
"""

from typing import Annotated, Literal

from pydantic import Field, Tag

from mockserver.engine.spec.table import Table, by_type

_AT_X, _AT_Y = "pixels from the left", "pixels from the top"
_HELD = "keys that are held meanwhile"


class PlaceSpec(Table):
    """A place on the screen."""

    example = "{x: 10, y: 20}"

    x: int = Field(description=_AT_X)
    y: int = Field(description=_AT_Y)


class ClickSpec(PlaceSpec):
    """Click."""

    example = "{type: click, x: 10, y: 20}"

    type: Literal["click"]
    button: Literal["left", "right", "wheel", "back", "forward"] = Field("left", description="left when absent")
    keys: list[str] | None = Field(None, description=_HELD)


class DoubleClickSpec(PlaceSpec):
    """Click twice."""

    example = "{type: double_click, x: 10, y: 20}"

    type: Literal["double_click"]
    keys: list[str] | None = Field(None, description=_HELD)


class DragSpec(Table):
    """Move while the button is pressed."""

    example = "{type: drag, path: [{x: 10, y: 20}, {x: 30, y: 40}]}"

    type: Literal["drag"]
    path: list[PlaceSpec] = Field(min_length=1, description="where it leads, place by place")
    keys: list[str] | None = Field(None, description=_HELD)


class KeysSpec(Table):
    """Press keys together, or only press or release them."""

    example = "{type: keypress, keys: [ctrl, c]}"

    type: Literal["keypress", "key_down", "key_up"]
    keys: list[str] = Field(min_length=1, description="names of the keys")


class MoveSpec(PlaceSpec):
    """Move the pointer."""

    example = "{type: move, x: 10, y: 20}"

    type: Literal["move"]
    keys: list[str] | None = Field(None, description=_HELD)


class MouseSpec(PlaceSpec):
    """Press or release the left button at a place."""

    example = "{type: mouse_down, x: 10, y: 20}"

    type: Literal["mouse_down", "mouse_up"]


class ScrollSpec(PlaceSpec):
    """Turn the wheel."""

    example = "{type: scroll, x: 10, y: 20, scroll_y: 100}"

    type: Literal["scroll"]
    scroll_x: int = Field(0, description="how far to the right; 0 when absent")
    scroll_y: int = Field(0, description="how far down; 0 when absent")
    keys: list[str] | None = Field(None, description=_HELD)


class TypeSpec(Table):
    """Type a text."""

    example = "{type: type, text: hello}"

    type: Literal["type"]
    text: str = Field(description="what is typed")


class PointAndTypeSpec(PlaceSpec):
    """Click somewhere and type a text there."""

    example = "{type: point_and_type, x: 10, y: 20, text: hello}"

    type: Literal["point_and_type"]
    text: str = Field(description="what is typed")


class LookSpec(Table):
    """Take a screenshot, or wait."""

    example = "{type: screenshot}"

    type: Literal["screenshot", "wait"]


Action = Annotated[
    Annotated[ClickSpec, Tag("<click>")]
    | Annotated[DoubleClickSpec, Tag("<double_click>")]
    | Annotated[DragSpec, Tag("<drag>")]
    | Annotated[KeysSpec, Tag("<keypress>")]
    | Annotated[MoveSpec, Tag("<move>")]
    | Annotated[LookSpec, Tag("<screenshot>")]
    | Annotated[ScrollSpec, Tag("<scroll>")]
    | Annotated[TypeSpec, Tag("<type>")]
    | Annotated[LookSpec, Tag("<wait>")]
    | Annotated[PointAndTypeSpec, Tag("<point_and_type>")]
    | Annotated[MouseSpec, Tag("<mouse_down>")]
    | Annotated[MouseSpec, Tag("<mouse_up>")]
    | Annotated[KeysSpec, Tag("<key_down>")]
    | Annotated[KeysSpec, Tag("<key_up>")],
    by_type,
]
