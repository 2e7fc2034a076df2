"""Reader of ``<model>_OE_<version>_Q.json``: what the front end tells the Neural-ART compiler about a model. It says
how each tensor is quantized, and which layer of the model each node of the exported graph comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.files import of_file
from neuralart.text.json_values import JsonValue, parse_tool
from neuralart.vendor.c_info.read import NOTHING, declared_ports
from neuralart.vendor.c_info.types import InfoPort
from neuralart.vendor.releases import CoreVersion, parse_core

VERSION_MAJOR = "4"
GENERATED = "__FE_GENERATED__"
_TOP = ("environment", "model_info", "nodes", "tensors", "version")


@dataclass(frozen=True)
class QTensor:
    """A tensor of the exported graph."""

    name: str  # There
    type: str  # ``S8``, ``U8``, ``S32``, ``FLOAT32``...
    family: str  # ``integer``, ``float32``...
    scales: tuple[float, ...] = ()  # Of its quantization; empty if it has none
    zero_points: tuple[int, ...] = ()  # The same
    channel_position: str = ""  # ``CHFIRST`` or ``CHLAST``; empty but for inputs and outputs
    user_allocated: bool = False  # The application provides the buffer

    @property
    def quantized(self) -> bool:
        """Whole numbers with a scale."""
        return bool(self.scales)


@dataclass(frozen=True)
class QFile:
    file: str  # Its name as shown to the user
    version: str  # Of its format
    core: CoreVersion | None  # Version of ST Edge AI Core; None if the file does not tell
    exported: str  # Name of the exported model, ``<model>_OE_<version>.onnx``
    model: str  # Name of the model's own file
    signature: str  # ``0x`` and the MD5 of the model's own file
    inputs: tuple[InfoPort, ...]  # As the model declares them
    outputs: tuple[InfoPort, ...]  # The same
    tensors: dict[str, QTensor]  # By name
    # Node of the exported graph -> layers of the model; empty for one the front end inserted
    originals: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()  # Keys that were not understood

    def layers_of(self, node: str) -> tuple[str, ...] | None:
        """Layers of the model that a compiler's node comes from.

        The compiler derives names of its own: ``Resize_300_resize_NN_dts_553`` comes from the node ``Resize_300``.

        None of them if the front end inserted the node; None if the node is not known.
        """
        while node:
            if node in self.originals:
                return self.originals[node]
            node = node.rpartition("_")[0]
        return None


def _tensor(name: str, item: JsonValue) -> QTensor:
    form = item.need("format")
    parameters = form.items_at("params")
    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    if len(parameters) > 1 and parameters[0].value is not None:
        scales = tuple(map(float, parameters[0].plain(int, float, wanted="a number")))
        if parameters[1].value is not None:
            zeros = parameters[1].plain(int, wanted="a whole number")
    return QTensor(
        name=name,
        type=form.string_at("type"),
        family=form.string_at("class"),
        scales=scales,
        zero_points=zeros,
        channel_position=item.string_at("data_channel_position"),
        user_allocated=item.boolean_at("user_allocated"),
    )


def parse_q_json(data: bytes, file: str) -> QFile:
    """The content of such a file; NeuralArtError with ``file:line:column`` if it is none, or a value is wrong."""
    root = parse_tool(data, file)
    if type(root.value) is not dict or "tensors" not in root.value or "nodes" not in root.value:
        root.fail("not a quantization file: 'tensors' and 'nodes' are not both there")
    version = root.string_at("version")
    notes = [f"unknown key '{key}'" for key in root.strange(_TOP)]
    if version.partition(".")[0] != VERSION_MAJOR:
        notes.append(f"version '{version}' read as {VERSION_MAJOR}.0")
    environment, info = root.get("environment") or NOTHING, root.get("model_info") or NOTHING
    tool = next(iter(environment.items_at("tools")), None)
    source = (tool.get("input_model") if tool else None) or NOTHING
    generated = environment.get("generated_model") or NOTHING
    exported, given = (next(iter(item.items_at("model_files")), NOTHING) for item in (generated, source))
    return QFile(
        file=file,
        version=version,
        core=parse_core(tool.string_at("version")) if tool else None,
        exported=exported.string_at("name"),
        model=given.string_at("name"),
        signature=given.string_at("signature"),
        inputs=declared_ports(info, "original_inputs"),
        outputs=declared_ports(info, "original_outputs"),
        tensors={name: _tensor(name, item) for name, item in (root.get("tensors") or NOTHING).mapping().items()},
        originals={
            name: tuple(layer for layer in item.strings_at("names") if layer != GENERATED)
            for name, item in (root.get("nodes") or NOTHING).mapping().items()
        },
        notes=tuple(notes),
    )


read = of_file(parse_q_json)
