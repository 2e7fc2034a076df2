"""Which kernel computes a call of a software epoch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuralart_virtual.network_c.epochs import EpochFunction
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.software import data_movement, elementwise, padding, spatial
from neuralart_virtual.npu.software.tensors import Kernel, Output

KERNELS: dict[str, Callable[[Kernel], None]] = {
    "ll_sw_forward_dequantizelinear": elementwise.dequantize,
    "ll_sw_forward_quantizelinear": elementwise.quantize,
    "ll_sw_forward_requantizelinear": elementwise.requantize,
    "ll_sw_forward_activ": elementwise.activation,
    "ll_sw_forward_activ_integer": elementwise.activation_integer,
    "ll_sw_forward_bn": elementwise.batch_normalization,
    "ll_sw_forward_arith": elementwise.arithmetic,
    "ll_sw_forward_eltwise_integer": elementwise.arithmetic_integer,
    "ll_sw_forward_conv": spatial.convolution,
    "ll_sw_forward_conv_integer": spatial.convolution_integer,
    "ll_sw_forward_qlinearconv": spatial.convolution_integer,
    "ll_sw_forward_pool": spatial.pooling,
    "ll_sw_forward_global_pool": spatial.pooling,
    "ll_sw_forward_pool_integer": spatial.pooling_integer,
    "ll_sw_forward_global_pool_integer": spatial.pooling_integer,
    "ll_sw_forward_softmax": spatial.softmax,
    "ll_sw_forward_softmax_integer": spatial.softmax_integer,
    "ll_sw_forward_resize": spatial.resize,
    "ll_sw_forward_resize_integer": spatial.resize_integer,
    "LL_ATON_LIB_Concat": data_movement.concat,
    "LL_ATON_LIB_DMA_DepthToSpace": data_movement.depth_to_space,
    "LL_ATON_LIB_DMA_SpaceToDepth": data_movement.space_to_depth,
    "LL_ATON_LIB_DMA_Transpose": data_movement.transpose,
    "LL_ATON_LIB_DMA_Outputs_Flat_Copy": data_movement.copy_flat,
    "LL_ATON_LIB_DMA_Outputs_Slice_SplitLike": data_movement.slice_lines,
    "LL_ATON_LIB_Split": data_movement.split,
    "LL_ATON_LIB_Pad": padding.pad,
    "LL_ATON_LIB_Pad_Standard": padding.pad,
    "LL_ATON_LIB_Pad_4Loop": padding.pad_in_loops,
    "LL_ATON_LIB_Cast": data_movement.cast,
}
# Calls without an effect on a model that has no caches, no clocks and no operating system.
_IDLE = (
    *("LL_ATON_LIB_UNUSED", "LL_ATON_Cache_", "LL_Switch_", "LL_ATON_DisableUnits_Init"),
    *("LL_ATON_LOCK_", "LL_ATON_UNLOCK_"),
)
_HARDWARE = ("LL_Streng_", "LL_Convacc_", "LL_Arithacc_", "LL_Activacc_", "LL_Poolacc_", "LL_Decun_")


def kernels(function: EpochFunction) -> tuple[str, ...]:
    """Names of the software kernels that a function calls, those that no kernel of ours computes too."""
    others = (*_IDLE, *_HARDWARE, "LL_ATON_EnableUnits_Init")
    return tuple(call.function for call in function.calls if not call.function.startswith(others))


def run(function: EpochFunction, reader: StructureReader) -> list[Output]:
    """Run the software kernels that a function calls. Returns the buffers that they wrote.

    Raises NeuralArtError: a call that is not modeled, or one that does not fit its tensors.
    """
    outputs: list[Output] = []
    wanted = kernels(function)
    for call in function.calls:
        kernel = KERNELS.get(call.function)
        if kernel is not None:
            work = Kernel(reader, function, call, outputs)
            try:
                # What has no result is a value in memory, as on a board: infinity, or no number.
                with np.errstate(all="ignore"):
                    kernel(work)
            except ValueError as error:
                # Shapes that no kernel looks at before NumPy does; views of flash cannot be written.
                work.fail(
                    "writes to flash"
                    if "read-only" in str(error)
                    else f"has tensors that do not fit each other: {error}"
                )
        elif call.function in wanted:
            what = f"{call.function} is not modeled: no kernel of ours computes it"
            raise reader.description.error(what, call.offset)
    return outputs
