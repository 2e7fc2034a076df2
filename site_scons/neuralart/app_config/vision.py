"""Derives header values of camera applications from the shapes of the outputs."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.app_config.render import cfloat
from neuralart.app_config.request import Request, Values, class_count, image
from neuralart.app_config.tensors import TensorInfo

_YOLO_STRIDES = (8, 16, 32)
# BlazeFace: (stride, anchors of each cell): two for each layer of a grid, the first has one layer, the second three.
_GRIDS = ((8, 2), (16, 6))
# The older applications know the skeletons of these.
_SKELETONS = (13, 17)
_HEATMAP_STRIDE = 4
_RIGHT = "is model_type right?"


def _rank(request: Request, tensor: TensorInfo, form: str) -> tuple[int, ...]:
    """The shape of an output of three axes, the first of them 1."""
    if len(tensor.shape) != 3 or tensor.shape[0] != 1:
        raise request.refuse(f"output {tensor} is not {form}", _RIGHT)
    return tensor.shape


def _map(request: Request, tensor: TensorInfo, what: str) -> tuple[int, int, int]:
    """Height, width and channels of an output that is a picture."""
    height, width, channels = (tensor.axis(letter) for letter in "HWC")
    if len(tensor.shape) != 4:
        raise request.refuse(f"output {tensor} is not {what}", _RIGHT)
    if height is None or width is None or channels is None:  # no layout: as TensorFlow orders them
        _, height, width, channels = tensor.shape
    return height, width, channels


def _cells(request: Request, stride: int) -> tuple[int, int]:
    """Columns and rows of a grid; NeuralArtError: the input is no multiple of the stride."""
    size = image(request)
    for name, pixels in (("width", size.width), ("height", size.height)):
        if pixels % stride:
            what = f"{name} of the input is {pixels}, no multiple of the stride {stride}"
            raise request.refuse(what, "network_stride: pixels per cell of the output", "network_stride")
    return size.width // stride, size.height // stride


def classifier(request: Request) -> Values:
    """One score for each class."""
    (output,) = request.outputs(1)
    image(request)
    dtype = request.dtype((output,))
    if request.generation.name != "h7" and dtype != "float32":
        what = f"output {output}: the application reads float32"
        raise request.refuse(what, "compile with output_data_type: float32")
    count = class_count(request, output.elements, f"classes of output {output}")
    return Values(dtype, {"classes": count}, request.classes)


# Detectors -----------------------------------------------------------------------------------------------------------


def yolo_v8(request: Request) -> Values:
    """``[1, 4 + classes, boxes]``, also of YOLO11 and of the anchor-free YOLOv5u."""
    return _yolo(request, "[1, 4 + classes, boxes]", boxes_at=2, more=4, each=1)


def yolo_v5(request: Request) -> Values:
    """``[1, boxes, 5 + classes]`` with three anchors for each cell."""
    return _yolo(request, "[1, boxes, 5 + classes]", boxes_at=1, more=5, each=3)


def _yolo(request: Request, form: str, *, boxes_at: int, more: int, each: int) -> Values:
    """One output: ``each`` boxes for each cell of three grids, with ``more`` values besides the classes."""
    (output,) = request.outputs(1)
    shape = _rank(request, output, form)
    size = image(request)
    boxes = shape[boxes_at]
    cells = (_cells(request, stride) for stride in _YOLO_STRIDES)
    wanted, why = sum(columns * rows for columns, rows in cells) * each, f"an input of {size.width}x{size.height}"
    hint = "are the axes in another order, or is model_type wrong?"
    request.equal(boxes, wanted, f"boxes of output {output}", f"follow from {why}", hint=hint)
    count = class_count(request, shape[3 - boxes_at] - more, f"classes of output {output}")
    values = {**request.thresholds(), "classes": count, "boxes": boxes, "quantized": output.dtype != "float32"}
    values |= {"scale": output.scale, "zero_point": output.zero_point}
    return Values(request.dtype((output,)), values, request.classes)


def _check_grid(request: Request, tensor: TensorInfo, stride: int, pairs: int, keys: str) -> tuple[int, int]:
    """Columns and rows of ``[1, rows, columns, anchors x (5 + classes)]``."""
    columns, rows = _cells(request, stride)
    count = len(request.classes)
    wanted, what = rows * columns * pairs * (5 + count), f"elements of output {tensor}"
    why = f"follow from {rows} x {columns} cells x {pairs} anchors x (5 + {count} classes)"
    request.equal(tensor.elements, wanted, what, why, hint=f"compare {keys} and class_names with the model")
    return columns, rows


def yolo_v2(request: Request) -> Values:
    """``[1, rows, columns, anchors x (5 + classes)]``."""
    (output,) = request.outputs(1)
    config = request.config
    image(request)
    for key, how in (
        ("network_stride", "32 for tiny_yolo_v2, 16 for st_yolo_lc_v1"),
        ("anchors", "widths and heights in turn, as the model was trained"),
    ):
        if not getattr(config, key):
            raise request.refuse(f"app_config: '{key}' is missing, {config.model_type} needs it", how, key)
    pairs = len(config.anchors) // 2
    count = class_count(request, len(request.classes), "class_names")
    columns, rows = _check_grid(request, output, config.network_stride, pairs, "network_stride, anchors")
    values = {**request.thresholds(), "classes": count, "grid_width": columns, "grid_height": rows}
    values |= {"anchor_count": pairs, "anchors": config.anchors}
    return Values(request.dtype((output,)), values, request.classes)


def st_yolo_x(request: Request) -> Values:
    """Three grids, ``[1, rows, columns, anchors x (5 + classes)]`` each, in any order."""
    outputs = request.outputs(3)
    image(request)
    flat = request.config.anchors or (0.5, 0.5)  # of the model as it is published
    pairs = len(flat) // 2
    count = class_count(request, len(request.classes), "class_names")
    grids = []
    largest_first = sorted(outputs, key=lambda tensor: tensor.elements, reverse=True)
    for tensor, stride, name in zip(largest_first, _YOLO_STRIDES, "LMS", strict=True):
        columns, rows = _check_grid(request, tensor, stride, pairs, "anchors")
        # Anchors are fractions of the image; the post-processing wants them in cells.
        grids.append({"name": name, "width": columns, "height": rows, "anchors": [value * columns for value in flat]})
    values = {**request.thresholds(), "classes": count, "anchor_count": pairs, "grids": grids}
    return Values(request.dtype(outputs), values, request.classes)


def st_ssd(request: Request) -> Values:
    """Scores, boxes and anchors, ``[1, detections, n]`` each; background is the first class."""
    outputs = request.outputs(3)
    shapes = [_rank(request, tensor, "[1, detections, n]") for tensor in outputs]
    detections = shapes[0][1]
    for tensor, shape in zip(outputs[1:], shapes[1:], strict=True):
        request.equal(shape[1], detections, f"detections of output {tensor}", f"are in output {outputs[0]}")
    # The wrapper takes them by position: scores, boxes, anchors.
    for tensor, shape, name in zip(outputs[1:], shapes[1:], ("boxes", "anchors"), strict=True):
        request.equal(shape[2], 4, f"values of output {tensor} ({name})", "describe a box")
    count = class_count(request, shapes[0][2], f"classes of output {outputs[0]}", extra=1)
    values = {**request.thresholds(), "classes": count, "detections": detections}
    return Values(request.dtype(outputs), values, ("background", *request.classes))


def blazeface(request: Request) -> Values:
    """Boxes with keypoints and scores of two grids, ``[1, boxes, n]`` and ``[1, boxes, 1]`` each, in any order."""
    outputs = request.outputs(4)
    size = image(request)
    request.equal(size.height, size.width, "height of the input", "is its width, and the post-processing takes squares")
    shapes = [_rank(request, tensor, "[1, boxes, values]") for tensor in outputs]
    grids = blazeface_anchors(size.width)
    if grids is None:
        raise request.refuse(f"size of the input is {size.width}, no multiple of 16", _RIGHT)
    wanted = sorted((len(grid) for grid in grids), reverse=True)
    if sorted(shape[1] for shape in shapes) != sorted(wanted * 2):
        follow = f"{' and '.join(map(str, wanted))} follow from an input of {size.width}x{size.height}"
        have = ", ".join(str(shape[1]) for shape in shapes)
        raise request.refuse(f"the outputs have {have} boxes, but {follow}", _RIGHT)
    wide = {shape[2] for shape in shapes} - {1}
    if len(wide) != 1 or sum(shape[2] == 1 for shape in shapes) != 2:
        listed = ", ".join(map(str, outputs))
        raise request.refuse(f"two outputs must have 1 value for each box, and two the same number of values: {listed}")
    count = wide.pop()
    if count < 6 or count % 2:
        raise request.refuse(f"outputs with {count} values for each box, but 4 and 2 for each keypoint are needed")
    request.equal(len(request.classes) or 1, 1, "class_names", "is what a detector of faces knows", "class_names")
    values = {**request.thresholds(), "keypoints": (count - 4) // 2, "classes": 1, "size": size.width}
    values |= {"boxes_0": wanted[0], "boxes_1": wanted[1]}
    companions = {f"fd_blazeface_anchors_{at}.h": anchors_header(at, grid) for at, grid in enumerate(grids)}
    return Values(request.dtype(outputs), values, request.classes or ("face",), companions=companions)


def blazeface_anchors(size: int) -> list[list[tuple[float, float]]] | None:
    """Compute the anchors of BlazeFace for both grids: x and y (0 to 1) of the middle of each cell, once for each
    layer. 512 and 384 for an input of 128 x 128; None if the strides do not divide the size.
    """
    if any(size % stride for stride, _ in _GRIDS):
        return None
    grids = []
    for stride, count in _GRIDS:
        middles = [(at + 0.5) / (size // stride) for at in range(size // stride)]
        grids.append([(x, y) for y in middles for x in middles for _ in range(count)])
    return grids


def anchors_header(number: int, grid: Sequence[tuple[float, float]]) -> str:
    """Write ``fd_blazeface_anchors_<number>.h``: x and y of each anchor."""
    guard = f"FD_BLAZEFACE_ANCHORS_{number}_H"
    head = f"/* Anchors of grid {number}: x and y of the middle, from 0 to 1. Generated. */"
    array = f"static const float32_t g_Anchors_{number}[{2 * len(grid)}] = {{"
    rows = (f"  {cfloat(x)}, {cfloat(y)}," for x, y in grid)
    lines = [head, f"#ifndef {guard}", f"#define {guard}", "", '#include "arm_math.h"', "", array, *rows, "};", ""]
    return "\n".join([*lines, "#endif", ""])


# Poses and segmentation ----------------------------------------------------------------------------------------------


def _check_keypoints(request: Request, found: int, output: TensorInfo) -> None:
    wanted = request.config.keypoints
    if wanted:
        request.equal(found, wanted, f"keypoints of output {output}", "are asked for", "keypoints")


def movenet(request: Request) -> Values:
    """One heatmap for each keypoint, a quarter of the input's size."""
    (output,) = request.outputs(1)
    size = image(request)
    height, width, keypoints = _map(request, output, "[1, height, width, keypoints]")
    for name, found, pixels in (("width", width, size.width), ("height", height, size.height)):
        what = f"{name} of the heatmap is {found}, 4 x {found}"
        request.equal(found * _HEATMAP_STRIDE, pixels, what, f"is the {name} of the input")
    _check_keypoints(request, keypoints, output)
    notes = []
    if keypoints not in _SKELETONS:
        if request.generation.sizes:
            what = f"output {output} has {keypoints} keypoints, the application draws 13 or 17"
            raise request.refuse(what, _RIGHT)
        notes.append(f"{keypoints} keypoints: the application draws a skeleton for 13 and 17 only")
    values = {"confidence": request.need("confidence_thresh"), "heatmap_width": width, "heatmap_height": height}
    return Values(request.dtype((output,)), values | {"keypoints": keypoints}, notes=tuple(notes))


def yolo_v8_pose(request: Request) -> Values:
    """``[1, 5 + 3 x keypoints, boxes]``."""
    (output,) = request.outputs(1)
    image(request)
    _, rows, boxes = _rank(request, output, "[1, 5 + 3 x keypoints, boxes]")
    if rows < 8 or (rows - 5) % 3:
        raise request.refuse(f"output {output} has {rows} values for each box, that is not 5 + 3 x keypoints")
    keypoints = (rows - 5) // 3
    _check_keypoints(request, keypoints, output)
    values = {**request.thresholds(), "classes": 1, "boxes": boxes, "keypoints": keypoints}
    return Values(request.dtype((output,)), values)


def deeplab_v3(request: Request) -> Values:
    """A score for each class at each pixel."""
    (output,) = request.outputs(1)
    image(request)
    height, width, channels = _map(request, output, "[1, height, width, classes]")
    count = class_count(request, channels, f"classes of output {output}")
    return Values(request.dtype((output,)), {"classes": count, "width": width, "height": height}, request.classes)


def yolo_v8_seg(request: Request) -> Values:
    """Boxes with coefficients of masks ``[1, 4 + classes + masks, boxes]``, and masks ``[1, size, size, masks]``."""
    first, second = request.outputs(2)
    boxes, masks = (first, second) if len(first.shape) == 3 else (second, first)
    image(request)
    height, width, mask_count = _map(request, masks, "[1, size, size, masks]")
    request.equal(height, width, f"height of output {masks}", "is its width, and the post-processing takes squares")
    _, rows, count = _rank(request, boxes, "[1, 4 + classes + masks, boxes]")
    what = f"classes of output {boxes} (values for each box less 4 and {mask_count} masks)"
    values = {**request.thresholds(), "classes": class_count(request, rows - 4 - mask_count, what), "boxes": count}
    values |= {"masks": mask_count, "mask_size": width, "scale": boxes.scale, "zero_point": boxes.zero_point}
    values |= {"mask_scale": masks.scale, "mask_zero_point": masks.zero_point}
    return Values(request.dtype((boxes, masks)), values, request.classes)
