"""What a header is made from, and checks that all use cases share."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.app_config.application import Application
from neuralart.app_config.generations import Generation
from neuralart.app_config.tensors import TensorInfo, Tensors
from neuralart.config.app_config import AppConfig
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, field

# Second letter of a symbol's ending; the first is the input's, and cameras give U.
LETTERS = {"float32": "F", "int8": "I", "uint8": "U"}


@dataclass(frozen=True)
class Request:
    config: AppConfig  # the user's settings
    tensors: Tensors  # the network's inputs and outputs
    classes: tuple[str, ...]  # names of the classes, from either key
    generation: Generation  # which kind of header
    application: Application | None = None  # the application it is for; None where only the generation is known

    @property
    def input(self) -> TensorInfo:
        """The only input. NeuralArtError: there is another number of them."""
        if len(self.tensors.inputs) != 1:
            count = len(self.tensors.inputs)
            raise self.refuse(f"{self.config.use_case} takes a network with one input, this one has {count}")
        return self.tensors.inputs[0]

    def outputs(self, count: int) -> tuple[TensorInfo, ...]:
        """All outputs. NeuralArtError: there are more or fewer than ``count``."""
        found = self.tensors.outputs
        if len(found) != count:
            wanted = f"{self.config.model_type} has {count} output{'s' if count > 1 else ''}"
            listed = f"{len(found)}: {', '.join(map(str, found))}"
            raise self.refuse(f"{wanted}, this network has {listed}", "is model_type right?")
        return found

    def refuse(self, what: str, hint: str = "", key: str = "") -> NeuralArtError:
        """Make an error at a key of the user's file, or at the network's file."""
        where = (self.config.said(key) if key else "") or self.tensors.where or f"network {self.tensors.network}"
        return NeuralArtError(what, where=where, hint=hint)

    def dtype(self, tensors: tuple[TensorInfo, ...]) -> str:
        """The common type of some outputs. NeuralArtError: they differ, or no post-processing takes it."""
        first = tensors[0]
        for other in tensors[1:]:
            if other.dtype != first.dtype:
                what = f"outputs of different types: {first} and {other}"
                raise self.refuse(what, "compile with one output_data_type")
        if first.dtype not in LETTERS:
            what = f"output {first}: the post-processing takes {', '.join(LETTERS)}"
            raise self.refuse(what, "compile with output_data_type")
        return first.dtype

    def need(self, key: str) -> float:
        """Read a number that this use case requires. NeuralArtError: the file lacks it."""
        found = getattr(self.config, key)
        if found is None or (key == "max_detection_boxes" and not found):
            hint = f"for example {key}: {'10' if key == 'max_detection_boxes' else '0.5'}"
            raise self.refuse(f"app_config: '{key}' is missing, {self.config.model_type} needs it", hint, key)
        return float(found)

    def thresholds(self) -> dict[str, object]:
        """Read the thresholds of detectors. NeuralArtError: one is missing."""
        confidence, iou, most = map(self.need, ("confidence_thresh", "nms_thresh", "max_detection_boxes"))
        return {"confidence": confidence, "iou": iou, "max_boxes": int(most)}

    def equal(self, found: int, wanted: int, what: str, why: str, key: str = "", hint: str = "") -> None:
        """Compare two numbers that must be equal. NeuralArtError: they differ; the message has both."""
        if found != wanted:
            raise self.refuse(f"{what}: {found}, but {wanted} {why}", hint, key)


@dataclass(frozen=True)
class Values:
    dtype: str  # element type of the outputs that are post-processed
    values: Mapping[str, object]  # for the template
    classes: tuple[str, ...] | None = None  # names for the class table; None: the header has none
    notes: tuple[str, ...] = ()  # what the user should know, one line each
    companions: Mapping[str, str] = field(default_factory=dict)  # further files, name -> text


@dataclass(frozen=True)
class ImageSize:
    width: int
    height: int
    channels: int


def image(request: Request) -> ImageSize:
    """Read the input as an image, by its layout. NeuralArtError: it is none, or the camera cannot give it."""
    tensor = request.input
    height, width, channels = (tensor.axis(letter) for letter in "HWC")
    if len(tensor.shape) != 4 or height is None or width is None or channels is None:
        layout = f", layout {tensor.layout}" if tensor.layout else ""
        what = f"input {tensor}{layout} is no image: batch, height, width and channels are needed"
        raise request.refuse(what, "compile with inputs_ch_position: chlast if the model does not say")
    batch = tensor.axis("N")
    if batch != 1:
        raise request.refuse(f"input {tensor} has a batch of {batch}, the application gives 1 image")
    if request.generation.name.startswith("n6"):
        for wrong, what, hint in (
            (tensor.layout != "NHWC", f"is {tensor.layout}, the camera writes NHWC", "inputs_ch_position: chlast"),
            (channels != 3, f"has {channels} channels, the camera writes 3", ""),
            (tensor.dtype != "uint8", f"is {tensor.dtype}, the camera writes uint8", "input_data_type: uint8"),
        ):
            if wrong:
                raise request.refuse(f"input {tensor} {what}", f"compile with {hint}" if hint else "")
    else:
        mode, hint = request.config.color_mode, "grayscale has 1 channel, rgb and bgr have 3"
        wanted, what = 1 if mode == "grayscale" else 3, f"channels of input {tensor}"
        request.equal(channels, wanted, what, f"with color_mode: {mode}", "color_mode", hint)
        if tensor.dtype not in LETTERS:
            raise request.refuse(f"input {tensor}: the application takes {', '.join(LETTERS)}")
    return ImageSize(width, height, channels)


def class_count(request: Request, found: int, what: str, extra: int = 0) -> int:
    """Compare the network's number of classes with the names. ``extra``: classes without a name in the file, such as
    the background. NeuralArtError: no names, or more or fewer.
    """
    if not request.classes:
        hint = f"{what} has {found - extra}: class_names: [a, b, ...]"
        raise request.refuse("app_config: 'class_names' is missing", hint, "use_case")
    key = "class_names_file" if request.config.class_names_file else "class_names"
    named, background = len(request.classes) + extra, " (with the background)" if extra else ""
    request.equal(found, named, what, f"{'are' if named != 1 else 'is'} named{background}", key)
    return found
