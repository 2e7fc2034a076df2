"""Detectors of objects and faces: values from the shapes of their outputs."""

from __future__ import annotations

from neuralart.app_config import anchors
from neuralart.app_config.request import Image, Request, Values, class_count, image
from neuralart.app_config.tensors import TensorInfo

_YOLO_STRIDES = (8, 16, 32)


def _rank(request: Request, tensor: TensorInfo, rank: int, form: str) -> tuple[int, ...]:
    if len(tensor.shape) != rank or tensor.shape[0] != 1:
        raise request.refuse(f"output {tensor} is not {form}", "is model_type right?")
    return tensor.shape


def _cells(request: Request, size: Image, stride: int) -> tuple[int, int]:
    """Columns and rows of a grid; NeuralArtError: the input is no multiple of the stride."""
    for name, pixels in (("width", size.width), ("height", size.height)):
        if pixels % stride:
            raise request.refuse(
                f"{name} of the input is {pixels}, no multiple of the stride {stride}",
                "network_stride: pixels per cell of the output",
                "network_stride",
            )
    return size.width // stride, size.height // stride


def _boxes(request: Request, size: Image) -> int:
    """Boxes of an anchor-free YOLO: one for each cell of three grids."""
    total = 0
    for stride in _YOLO_STRIDES:
        columns, rows = _cells(request, size, stride)
        total += columns * rows
    return total


def _check_boxes(request: Request, tensor: TensorInfo, found: int, each: int = 1) -> None:
    size = image(request)
    request.equal(
        found,
        _boxes(request, size) * each,
        f"boxes of output {tensor}",
        f"follow from an input of {size.width}x{size.height}",
        hint="are the axes in another order, or is model_type wrong?",
    )


def yolo_v8(request: Request) -> Values:
    """``[1, 4 + classes, boxes]``, also of YOLO11 and of the anchor-free YOLOv5u."""
    (output,) = request.outputs(1)
    _, rows, boxes = _rank(request, output, 3, "[1, 4 + classes, boxes]")
    _check_boxes(request, output, boxes)
    count = class_count(request, rows - 4, f"classes of output {output}")
    return Values(
        request.dtype((output,)),
        {**request.thresholds(), "classes": count, "boxes": boxes, **_quantization(output)},
        request.classes,
    )


def yolo_v5(request: Request) -> Values:
    """``[1, boxes, 5 + classes]`` with three anchors for each cell."""
    (output,) = request.outputs(1)
    _, boxes, columns = _rank(request, output, 3, "[1, boxes, 5 + classes]")
    _check_boxes(request, output, boxes, each=3)
    count = class_count(request, columns - 5, f"classes of output {output}")
    return Values(
        request.dtype((output,)),
        {**request.thresholds(), "classes": count, "boxes": boxes, **_quantization(output)},
        request.classes,
    )


def _quantization(output: TensorInfo) -> dict[str, object]:
    return {"quantized": output.dtype != "float32", "scale": output.scale, "zero_point": output.zero_point}


def yolo_v2(request: Request) -> Values:
    """``[1, rows, columns, anchors x (5 + classes)]``."""
    (output,) = request.outputs(1)
    size = image(request)
    stride = request.config.network_stride
    if not stride:
        raise request.refuse(
            "app_config: 'network_stride' is missing, yolo_v2 needs it",
            "32 for tiny_yolo_v2, 16 for st_yolo_lc_v1",
            "network_stride",
        )
    columns, rows = _cells(request, size, stride)
    flat = _anchors(request)
    pairs, count = len(flat) // 2, len(request.classes)
    class_count(request, count, "class_names")
    request.equal(
        output.elements,
        rows * columns * pairs * (5 + count),
        f"elements of output {output}",
        f"follow from {rows} x {columns} cells x {pairs} anchors x (5 + {count} classes)",
        hint="compare network_stride, anchors and class_names with the model",
    )
    return Values(
        request.dtype((output,)),
        {
            **request.thresholds(),
            "classes": count,
            "grid_width": columns,
            "grid_height": rows,
            "anchor_count": pairs,
            "anchors": flat,
        },
        request.classes,
    )


def _anchors(request: Request) -> tuple[float, ...]:
    if not request.config.anchors:
        raise request.refuse(
            f"app_config: 'anchors' is missing, {request.config.model_type} needs it",
            "widths and heights in turn, as the model was trained",
            "anchors",
        )
    return request.config.anchors


def st_yolo_x(request: Request) -> Values:
    """Three grids, ``[1, rows, columns, anchors x (5 + classes)]`` each, in any order."""
    outputs = request.outputs(3)
    size = image(request)
    flat = request.config.anchors or (0.5, 0.5)  # of the model as it is published
    pairs, count = len(flat) // 2, len(request.classes)
    class_count(request, count, "class_names")
    grids = []
    left = sorted(outputs, key=lambda tensor: tensor.elements, reverse=True)
    for tensor, stride, name in zip(left, _YOLO_STRIDES, "LMS", strict=True):
        columns, rows = _cells(request, size, stride)
        request.equal(
            tensor.elements,
            rows * columns * pairs * (5 + count),
            f"elements of output {tensor}",
            f"follow from {rows} x {columns} cells x {pairs} anchors x (5 + {count} classes)",
            hint="compare anchors and class_names with the model",
        )
        # Anchors are fractions of the image; the post-processing wants them in cells.
        grids.append({"name": name, "width": columns, "height": rows, "anchors": [value * columns for value in flat]})
    return Values(
        request.dtype(outputs),
        {**request.thresholds(), "classes": count, "anchor_count": pairs, "grids": grids},
        request.classes,
    )


def st_ssd(request: Request) -> Values:
    """Scores, boxes and anchors, ``[1, detections, n]`` each; background is the first class."""
    outputs = request.outputs(3)
    shapes = [_rank(request, tensor, 3, "[1, detections, n]") for tensor in outputs]
    detections = shapes[0][1]
    for tensor, shape in zip(outputs[1:], shapes[1:], strict=True):
        request.equal(shape[1], detections, f"detections of output {tensor}", f"are in output {outputs[0]}")
    # The wrapper takes them by position: scores, boxes, anchors.
    for tensor, shape, name in zip(outputs[1:], shapes[1:], ("boxes", "anchors"), strict=True):
        request.equal(shape[2], 4, f"values of output {tensor} ({name})", "describe a box")
    count = class_count(request, shapes[0][2], f"classes of output {outputs[0]}", extra=1)
    return Values(
        request.dtype(outputs),
        {**request.thresholds(), "classes": count, "detections": detections},
        ("background", *request.classes),
    )


def blazeface(request: Request) -> Values:
    """Boxes with keypoints and scores of two grids, ``[1, boxes, n]`` and ``[1, boxes, 1]`` each, in any order."""
    outputs = request.outputs(4)
    size = image(request)
    request.equal(size.height, size.width, "height of the input", "is its width, and the post-processing takes squares")
    shapes = [_rank(request, tensor, 3, "[1, boxes, values]") for tensor in outputs]
    grids = anchors.blazeface(size.width)
    if grids is None:
        raise request.refuse(f"size of the input is {size.width}, no multiple of 16", "is model_type right?")
    wanted = sorted((len(grid) for grid in grids), reverse=True)
    found = sorted({shape[1] for shape in shapes}, reverse=True)
    if found != wanted or sorted(shape[1] for shape in shapes) != sorted(wanted * 2):
        raise request.refuse(
            f"the outputs have {', '.join(str(shape[1]) for shape in shapes)} boxes, but "
            f"{' and '.join(map(str, wanted))} follow from an input of {size.width}x{size.height}",
            "is model_type right?",
        )
    wide = {shape[2] for shape in shapes} - {1}
    if len(wide) != 1 or sum(shape[2] == 1 for shape in shapes) != 2:
        listed = ", ".join(map(str, outputs))
        raise request.refuse(f"two outputs must have 1 value for each box, and two the same number of values: {listed}")
    values = wide.pop()
    if values < 6 or values % 2:
        raise request.refuse(f"outputs with {values} values for each box, but 4 and 2 for each keypoint are needed")
    named = len(request.classes) or 1
    request.equal(named, 1, "class_names", "is what a detector of faces knows", "class_names")
    return Values(
        request.dtype(outputs),
        {
            **request.thresholds(),
            "keypoints": (values - 4) // 2,
            "classes": 1,
            "size": size.width,
            "boxes_0": wanted[0],
            "boxes_1": wanted[1],
        },
        request.classes or ("face",),
        companions={f"fd_blazeface_anchors_{at}.h": anchors.header(at, grid) for at, grid in enumerate(grids)},
    )
