"""TFLite_Detection_PostProcess."""

from __future__ import annotations

from neuralart_reference.context import Lowering, describe, float_literal, struct
from neuralart_reference.ir import Arg, TensorArg
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import check_types
from neuralart_reference.operators.custom import Options

_PER_CLASS = 100
_MOST = 1 << 16


def _side(ctx: Lowering, op: Operator, position: int, shape: tuple[int, ...]) -> tuple[Arg, str, int]:
    """Address, factor (0: float32) and zero point of an input."""
    tensor, factor, zero = ctx.input(op, position), 0.0, 0
    check_types(ctx, op, tensor, types=("int8", "float32"))
    ctx.expect_shape(op, tensor, shape)
    if tensor.dtype == "int8":
        operand = ctx.operand(op, tensor)
        factor, zero = operand.scale, operand.zero_point
    constant = tensor.data is not None
    data = ctx.data(op, tensor.data or b"", "uint8_t", "anchors", tensor) if constant else None
    return data or TensorArg(tensor.index, "uint8_t"), float_literal(factor), zero


def _rows(ctx: Lowering, op: Operator, position: int, rank: int) -> Tensor:
    tensor = ctx.input(op, position)
    if len(tensor.shape) != rank or (rank == 3 and tensor.shape[0] != 1):
        ctx.refuse(op, f"{describe(tensor)} has not {rank} dimensions, the first of three being 1")
    return tensor


@operator(
    "CUSTOM:TFLite_Detection_PostProcess",
    limits="int8 or float32 to float32; batch 1; anchors constant or not; both kinds of suppression; rows behind the "
    "last detection are zero",
    floats=True,
)
def detections(ctx: Lowering, op: Operator) -> None:
    """Lower the selection of boxes. Multiply-accumulate operations: boxes x (classes + 4)."""
    if (len(op.inputs), len(op.outputs)) != (3, 4):
        ctx.refuse(op, f"{len(op.inputs)} inputs and {len(op.outputs)} outputs, expected 3 and 4")
    options = Options(ctx, op)
    (_, boxes, columns), (_, _, width) = _rows(ctx, op, 0, 3).shape, _rows(ctx, op, 1, 3).shape
    if columns < 4:
        ctx.refuse(op, f"{describe(ctx.input(op))} has {columns} values for a box, expected 4 or more")
    classes = options.integer("num_classes", max(1, width - 1), width)
    per_box = options.integer("max_classes_per_detection", 1, _MOST)
    most = options.integer("max_detections", 1, _MOST // per_box)
    regular = bool(options.integer("use_regular_nms", 0, 1, 0))
    each = min(options.integer("detections_per_class", 1, _MOST, _PER_CLASS), most) if regular else 0
    overlap = options.real("nms_iou_threshold")
    if not 0 < overlap <= 1:
        ctx.refuse(op, f"its option nms_iou_threshold is {overlap:g}", "supported: above 0, at most 1")
    scales = {name: options.real(f"{name[0]}_scale") for name in ("y_scale", "x_scale", "height_scale", "width_scale")}
    for name, scale in scales.items():
        if not scale > 0:
            ctx.refuse(op, f"its option {name[0]}_scale is {scale:g}", "supported: above 0")
    shapes = ((1, most * per_box, 4), (1, most * per_box), (1, most * per_box), (1,))
    targets = [ctx.tensors[index] for index in op.outputs]
    check_types(ctx, op, *targets, types=("float32",))
    for target, shape in zip(targets, shapes, strict=True):
        ctx.expect_shape(op, target, shape)
    sides = [_side(ctx, op, at, ctx.input(op, at).shape) for at in range(2)]
    ctx.expect_shape(op, ctx.input(op, 1), (1, boxes, width))
    sides.append(_side(ctx, op, 2, (boxes, 4)))
    parts = tuple(zip(("encoding", "score", "anchor"), sides, strict=True))
    parameters = struct(
        "na_detections_t",
        boxes=boxes,
        columns=columns,
        classes=classes,
        background=width - classes,
        most=most,
        per_box=per_box,
        per_class=each,
        score=float_literal(options.real("nms_score_threshold")),
        overlap=float_literal(overlap),
        **{name: float_literal(scale) for name, scale in scales.items()},
        **{f"{name}_factor": factor for name, (_, factor, _) in parts},
        **{f"{name}_zero": zero for name, (_, _, zero) in parts},
    )
    words = 2 * boxes + (2 * most + 6 * min(boxes, each) if regular else 2 * classes + 4 * most)
    args = (*(arg for arg, _, _ in sides), *map(ctx.write, targets), parameters)
    ctx.emit(op, "na_detections", args, macc=boxes * (classes + 4), scratch=4 * words)
