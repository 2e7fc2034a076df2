"""Classification, poses and segmentation: values from the shapes of outputs."""

from __future__ import annotations

from neuralart.app_config.request import Request, Values, class_count, image
from neuralart.app_config.tensors import TensorInfo

# The older applications know the skeletons of these.
_SKELETONS = (13, 17)
_HEATMAP_STRIDE = 4


def classifier(request: Request) -> Values:
    """One score for each class."""
    (output,) = request.outputs(1)
    image(request)
    dtype = request.dtype((output,))
    if request.generation.name != "h7" and dtype != "float32":
        raise request.refuse(
            f"output {output}: the application reads float32", "compile with output_data_type: float32"
        )
    count = class_count(request, output.elements, f"classes of output {output}")
    return Values(dtype, {"classes": count}, request.classes)


def _map(request: Request, tensor: TensorInfo, what: str) -> tuple[int, int, int]:
    """Height, width and channels of an output that is a picture."""
    height, width, channels = (tensor.axis(letter) for letter in "HWC")
    if len(tensor.shape) != 4:
        raise request.refuse(f"output {tensor} is not {what}", "is model_type right?")
    if height is None or width is None or channels is None:  # no layout: as TensorFlow orders them
        _, height, width, channels = tensor.shape
    return height, width, channels


def movenet(request: Request) -> Values:
    """One heatmap for each keypoint, a quarter of the input's size."""
    (output,) = request.outputs(1)
    size = image(request)
    height, width, keypoints = _map(request, output, "[1, height, width, keypoints]")
    for name, found, pixels in (("width", width, size.width), ("height", height, size.height)):
        request.equal(
            found * _HEATMAP_STRIDE,
            pixels,
            f"{name} of the heatmap is {found}, 4 x {found}",
            f"is the {name} of the input",
        )
    _check_keypoints(request, keypoints, f"keypoints of output {output}")
    notes = []
    if keypoints not in _SKELETONS:
        if request.generation.sizes:
            raise request.refuse(
                f"output {output} has {keypoints} keypoints, the application draws 13 or 17", "is model_type right?"
            )
        notes.append(f"{keypoints} keypoints: the application draws a skeleton for 13 and 17 only")
    return Values(
        request.dtype((output,)),
        {
            "confidence": request.need("confidence_thresh"),
            "heatmap_width": width,
            "heatmap_height": height,
            "keypoints": keypoints,
        },
        notes=tuple(notes),
    )


def _check_keypoints(request: Request, found: int, what: str) -> None:
    wanted = request.config.keypoints
    if wanted:
        request.equal(found, wanted, what, "are asked for", "keypoints")


def yolo_v8_pose(request: Request) -> Values:
    """``[1, 5 + 3 x keypoints, boxes]``."""
    (output,) = request.outputs(1)
    image(request)
    if len(output.shape) != 3 or output.shape[0] != 1:
        raise request.refuse(f"output {output} is not [1, 5 + 3 x keypoints, boxes]", "is model_type right?")
    _, rows, boxes = output.shape
    if rows < 8 or (rows - 5) % 3:
        raise request.refuse(f"output {output} has {rows} values for each box, that is not 5 + 3 x keypoints")
    _check_keypoints(request, (rows - 5) // 3, f"keypoints of output {output}")
    return Values(
        request.dtype((output,)),
        {**request.thresholds(), "classes": 1, "boxes": boxes, "keypoints": (rows - 5) // 3},
    )


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
    if len(boxes.shape) != 3 or boxes.shape[0] != 1:
        raise request.refuse(f"output {boxes} is not [1, 4 + classes + masks, boxes]", "is model_type right?")
    _, rows, count = boxes.shape
    classes = class_count(
        request, rows - 4 - mask_count, f"classes of output {boxes} (values for each box less 4 and {mask_count} masks)"
    )
    return Values(
        request.dtype((boxes, masks)),
        {
            **request.thresholds(),
            "classes": classes,
            "boxes": count,
            "masks": mask_count,
            "mask_size": width,
            "scale": boxes.scale,
            "zero_point": boxes.zero_point,
            "mask_scale": masks.scale,
            "mask_zero_point": masks.zero_point,
        },
        request.classes,
    )
