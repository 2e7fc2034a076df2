"""Figures of Bokeh in the page's style. The only file that knows how they are made and written. Bokeh gives its objects
numbers as they are made, so the numbers are given anew when a figure is written: the same facts give the same bytes.
Backgrounds are left out, and the page colors texts and axes: it is light or dark when it is seen.
"""

from __future__ import annotations

from typing import Any

from neuralart.errors import NeuralArtError

INK = "#777777"  # Until the page sets the color of its texts
SIDES = {side: side for side in ("left", "right", "bottom", "top")}
"""A box whose sides are columns of the same names."""


def script() -> tuple[str, str]:
    """The library's version and its JavaScript. NeuralArtError: it is not installed."""
    try:
        import bokeh
        import squarify  # noqa: F401
        from bokeh.resources import Resources
    except ImportError as error:
        what = f"report needs the package {(error.name or 'bokeh').partition('.')[0]}"
        raise NeuralArtError(what, hint="pip install 'scons-neuralart[report]'") from error
    # The first of its parts; the others are tables, widgets and formulas, and too large for a page.
    return bokeh.__version__, Resources(mode="inline", minified=True, components=["bokeh"]).js_raw[0]


def new(height: int, x: tuple[float, float], y: tuple[float, float], *, zoom: str = "both", **more: Any) -> Any:
    """An empty figure. ``height``: pixels; ``x``: range of the x axis; zooming does not leave it; ``y``: the same of
    the y axis, bottom first; ``zoom``: along ``x``, ``both`` or, empty, not at all; ``more``: for Bokeh's ``figure``.
    """
    from bokeh.models import Range1d, WheelZoomTool
    from bokeh.plotting import figure

    kinds = {"x": "xbox_zoom,xpan,xzoom_in,xzoom_out,reset", "both": "box_zoom,pan,zoom_in,zoom_out,reset", "": ""}
    made = figure(
        height=height,
        sizing_mode="stretch_width",
        x_range=Range1d(start=x[0], end=x[1], bounds=x),
        y_range=Range1d(start=y[0], end=y[1], bounds=y),
        tools=kinds[zoom],
        toolbar_location=None if not zoom else "above" if zoom == "x" else "right",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **more,
    )
    made.toolbar.logo = None
    made.grid.grid_line_color = None
    for what in ("axis_line", "major_tick_line", "major_label_text", "axis_label_text"):
        setattr(made.axis, f"{what}_color", INK)
    made.axis.minor_tick_line_color = None
    if zoom:
        box_zoom: Any = made.tools[0]
        # The wheel alone scrolls the page.
        wheel = WheelZoomTool(dimensions="width" if zoom == "x" else "both", modifiers={"ctrl": True})
        made.add_tools(wheel)
        made.toolbar.active_scroll = wheel
        made.toolbar.active_drag = box_zoom
    return made


def boxes(figure: Any, rows: list[dict[str, Any]], tips: list[tuple[str, str]], **style: Any) -> Any:
    """Draw what the page counts: a box for each row, which has ``left``, ``right``, ``bottom``, ``top`` and ``color``.
    ``tips``: label and column of what is shown under the pointer. Returns the source, for texts at the boxes.
    """
    source = columns(rows)
    hover(figure, figure.quad(**SIDES, fill_color="color", source=source, name="counted", **style), tips)
    return source


def hover(figure: Any, glyphs: Any, tips: list[tuple[str, str]]) -> None:
    """Show columns of glyphs under the pointer; ``tips``: label and column."""
    from bokeh.models import HoverTool

    tooltips = [(label, f"@{{{column}}}") for label, column in tips]
    figure.add_tools(HoverTool(renderers=[glyphs], tooltips=tooltips, point_policy="follow_mouse", visible=False))


def axis_of_bytes(axis: Any, *, addresses: bool) -> None:
    """Hexadecimal numbers on an axis, at whole powers of two."""
    from bokeh.models import AdaptiveTicker, PrintfTickFormatter

    axis.formatter = PrintfTickFormatter(format="0x%08x" if addresses else "0x%x")
    axis.ticker = AdaptiveTicker(base=16, mantissas=[1, 2, 4, 8], min_interval=1, desired_num_ticks=7)


def columns(rows: list[dict[str, Any]]) -> Any:
    """A source of glyphs with a column for each key of the rows."""
    from bokeh.models import ColumnDataSource

    return ColumnDataSource({key: [row[key] for row in rows] for key in (rows[0] if rows else {})})


def as_json(figure: Any, key: str) -> dict[str, Any]:
    """A figure for ``Bokeh.embed.embed_item``; ``key`` is in front of the numbers of its objects."""
    from bokeh.core.json_encoder import serialize_json
    from bokeh.document import Document

    from neuralart import jsontext

    document = Document(title="")
    document.add_root(figure)
    data = jsontext.loads(serialize_json(document.to_json(deferred=False), pretty=False), duplicates=True)
    renamed: dict[str, Any] = _renamed(data, key, {})
    return {"doc": renamed, "root_id": renamed["roots"][0]["id"], "target_id": f"picture-{key}"}


def _renamed(value: Any, key: str, known: dict[str, str]) -> Any:
    """The same with other numbers of objects, in the order in which they stand there."""
    if isinstance(value, list):
        return [_renamed(each, key, known) for each in value]
    if not isinstance(value, dict):
        return value
    made = dict(value)
    if isinstance(value.get("id"), str) and set(value) <= {"id", "type", "name", "attributes"}:
        made["id"] = known.setdefault(value["id"], f"{key}-{len(known)}")
    return {name: each if name == "id" else _renamed(each, key, known) for name, each in made.items()}
