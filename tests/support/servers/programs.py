"""Programs made by hand, and pools for them: what the planner and the writers need without a model file."""

from __future__ import annotations

import struct
from dataclasses import replace

from neuralart.network.pools import PoolFile
from neuralart.vendor.mpool import parse_pools
from neuralart_reference.ir import Call, ConstArg, Null, Program, StructArg, TensorArg
from neuralart_reference.model.graph import Model, Operator, Quantization, Tensor

RAM = {"rights": "ACC_WRITE", "throughput": "HIGH", "latency": "LOW", "freqRatio": 1.25}
SLOW = {"rights": "ACC_WRITE", "throughput": "MID", "latency": "MID"}
FLASH = {"rights": "ACC_READ", "throughput": "MID", "latency": "HIGH", "byteWidth": 1, "constants_preferred": "true"}


def pool_text(*pools, prefix="atonbuf"):
    """Text of a memory-pool file. A pool is (fname, address, bytes, prop)."""
    import json

    listed = [
        {
            "fname": fname,
            "name": f"{fname}_name",
            "fformat": "FORMAT_RAW",
            "prop": prop,
            "offset": {"value": hex(address), "magnitude": "BYTES"},
            "size": {"value": str(size), "magnitude": "BYTES"},
        }
        for fname, address, size, prop in pools
    ]
    return json.dumps({"memory": {"mem_file_prefix": prefix, "mempools": listed}}, indent=1)


def pool_file(*pools, file="test.mpool") -> PoolFile:
    return parse_pools(pool_text(*pools).encode(), file)


N6_LIKE = (
    ("AXISRAM3", 0x34200000, 448 * 1024, RAM),
    ("AXISRAM4", 0x34270000, 448 * 1024, RAM),
    ("xSPI2", 0x70380000, 1024 * 1024, FLASH),
)


def tensor(index, name, shape, dtype="int8", quantization=None, data=None) -> Tensor:
    return Tensor(index, name, tuple(shape), dtype, quantization, data)


def chain(*sizes, inputs=1, scratch=()) -> Program:
    """A chain of byte tensors: the k-th call reads tensor k and writes tensor k+1."""
    tensors = [tensor(k, f"t{k}", (1, size)) for k, size in enumerate(sizes)]
    calls = [
        Call(
            operator=k,
            kind="RELU",
            kernel="na_copy_8",
            args=(
                TensorArg(k, "uint8_t"),
                TensorArg(k + 1, "uint8_t", written=True),
                StructArg("na_bytes_t", (("count", str(min(sizes[k], sizes[k + 1]))),)),
            ),
            reads=(k,),
            writes=(k + 1,),
            scratch=dict(scratch).get(k, 0),
        )
        for k in range(len(sizes) - 1)
    ]
    return Program(tensors, calls, tuple(range(inputs)), (len(sizes) - 1,))


def constants_program(*sizes) -> Program:
    """One call per constant, so that their order of use is their order here."""
    tensors = [tensor(0, "in", (1, 8)), *(tensor(k + 1, f"t{k}", (1, 8)) for k in range(len(sizes)))]
    calls = [
        Call(
            k,
            "FULLY_CONNECTED",
            "na_copy_8",
            (ConstArg(bytes([k + 1]) * size, "uint8_t", f"c{k}"), TensorArg(k + 1, "uint8_t", written=True)),
            (k,),
            (k + 1,),
        )
        for k, size in enumerate(sizes)
    ]
    return Program(tensors, calls, (0,), (len(sizes),))


def small_network(name_in="image", name_out="scores", weight_byte=3, scales=(0.5, 0.25)) -> tuple[Model, Program]:
    """An int8 convolution, a reshape, a fully connected layer: a model and its lowering, weights of one value."""
    image = Quantization((0.0078125,), (-1,))
    tensors = [
        tensor(0, name_in, (1, 4, 4, 1), quantization=image),
        tensor(1, "conv_w", (2, 3, 3, 1), quantization=Quantization(scales, (0, 0)), data=bytes([weight_byte]) * 18),
        tensor(2, "conv_b", (2,), "int32", data=struct.pack("<2i", weight_byte, -weight_byte)),
        tensor(3, "conv", (1, 2, 2, 2), quantization=Quantization((0.1,), (5,))),
        tensor(4, "flat", (1, 8), quantization=Quantization((0.1,), (5,))),
        tensor(5, "fc_w", (3, 8), quantization=Quantization((0.02,), (0,)), data=bytes([weight_byte]) * 24),
        tensor(6, name_out, (1, 3), quantization=Quantization((0.00390625,), (-128,))),
    ]
    tensors = [replace(t, data=t.data) for t in tensors]
    conv = Call(
        0,
        "CONV_2D",
        "na_conv2d_s8",
        (
            TensorArg(0, "int8_t"),
            ConstArg(tensors[1].data, "int8_t", "conv_w", 16, 1),
            ConstArg(tensors[2].data, "int32_t", "conv_b", 16, 2),
            ConstArg(struct.pack("<2i", 1 << 30, 1 << 29), "int32_t", "conv_multiplier"),
            ConstArg(struct.pack("<2i", -1, -2), "int32_t", "conv_shift"),
            TensorArg(3, "int8_t", written=True),
            StructArg(
                "na_conv2d_t",
                tuple(
                    (member, value)
                    for member, value in (
                        ("batches", "1"),
                        ("input_height", "4"),
                        ("input_width", "4"),
                        ("input_channels", "1"),
                        ("output_height", "2"),
                        ("output_width", "2"),
                        ("output_channels", "2"),
                        ("kernel_height", "3"),
                        ("kernel_width", "3"),
                        ("kernel_channels", "1"),
                        ("stride_height", "1"),
                        ("stride_width", "1"),
                        ("dilation_height", "1"),
                        ("dilation_width", "1"),
                        ("input_offset", "1"),
                        ("output_offset", "5"),
                        ("activation_min", "-128"),
                        ("activation_max", "127"),
                    )
                ),
            ),
        ),
        (0,),
        (3,),
        macc=72,
    )
    dense = Call(
        2,
        "FULLY_CONNECTED",
        "na_fully_connected_s8",
        (
            TensorArg(4, "int8_t"),
            ConstArg(tensors[5].data, "int8_t", "fc_w", 16, 5),
            Null(),
            ConstArg(struct.pack("<d", 0.001), "double", "fc_scale"),
            TensorArg(6, "int8_t", written=True),
            StructArg(
                "na_fully_connected_t",
                (
                    ("batches", "1"),
                    ("depth", "8"),
                    ("units", "3"),
                    ("input_offset", "-5"),
                    ("output_offset", "-128"),
                    ("activation_min", "-128"),
                    ("activation_max", "127"),
                ),
            ),
        ),
        (4,),
        (6,),
        macc=24,
    )
    operators = (
        Operator(0, "CONV_2D", (0, 1, 2), (3,)),
        Operator(1, "RESHAPE", (3,), (4,)),
        Operator(2, "FULLY_CONNECTED", (4, 5, -1), (6,)),
    )
    model = Model("small.tflite", "small", tuple(tensors), operators, (0,), (6,))
    return model, Program(tensors, [conv, dense], (0,), (6,), {4: 3})
