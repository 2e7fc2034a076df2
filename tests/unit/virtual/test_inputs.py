"""What networks are fed with: random numbers, and files as elements of their inputs."""

from __future__ import annotations

import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_virtual.emulator.inputs import preprocessing
from neuralart_virtual.emulator.inputs.preprocessing import Preprocessing
from neuralart_virtual.emulator.inputs.source import InputFile, RandomInputs, at_random, inputs_of, read
from neuralart_virtual.emulator.vectors import DTYPES
from support.boards.firmware import facts, write_vectors


def port(shape=(1, 4), dtype="int8", scale=0.5, zero_point=-2, name="x", position="last") -> Port:
    size = int(np.prod(shape)) * struct.calcsize("<" + DTYPES[dtype])
    return Port(name, "", 0, size, shape, dtype, scale, zero_point, position)


X = (port(),)


def test_random_inputs_are_the_same_everywhere() -> None:
    wide = port((2,), "int32", 0, name="i"), port((2,), "float32", 0, name="f"), port((3,), "bool", 0, name="b")
    first, second = at_random((*X, *wide), RandomInputs(2, 7))
    assert at_random((*X, *wide), RandomInputs(1, 7)) == [first] != at_random((*X, *wide), RandomInputs(1, 8))
    assert first != second and first[:4].hex() == "38b4e652"
    for data in (first, second):
        integers, floats = struct.unpack("<2i", data[4:12]), struct.unpack("<2f", data[12:20])
        assert all(0 <= value <= 127 for value in integers) and all(-1 <= value < 1 for value in floats)
        assert set(data[20:]) <= {0, 1}


def test_sources_of_inputs(tmp_path: Path) -> None:
    folder = write_vectors(tmp_path, 2)
    assert inputs_of(folder, facts()).output_data
    file = inputs_of(InputFile(folder / "inputs.bin"), facts())
    assert file.input_data == inputs_of(folder, facts()).input_data and not file.output_data and file.count == 2
    assert file.where == (folder / "inputs.bin").as_posix()


@pytest.mark.parametrize(
    ("array", "elements"),
    [
        (np.array([-1, 0, 0.25, 100]), [[-4, -2, -2, 127]]),  # halves go to the even one
        (np.array([[1, 2, 3, 4]], np.int16), [[0, 2, 4, 6]]),
        (np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.int8), [[1, 2, 3, 4], [5, 6, 7, 8]]),  # its elements already
        (np.arange(4, dtype=np.float32).reshape(2, 2), [[-2, 0, 2, 4]]),
    ],
)
def test_arrays(tmp_path: Path, array: np.ndarray, elements: list[list[int]]) -> None:
    np.save(tmp_path / "a.npy", array)
    assert [list(struct.unpack("4b", data)) for data in read(tmp_path / "a.npy", X)] == elements
    np.savez(tmp_path / "a.npz", whatever=array)
    assert read(tmp_path / "a.npz", X) == read(tmp_path / "a.npy", X)


def test_elements_of_other_types(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([0, 1, -1, 300.0]))
    how = Preprocessing(2.0, 1.0)
    assert read(tmp_path / "a.npy", [port(dtype="float32", scale=0)], how) == [struct.pack("<4f", 1, 3, -1, 601)]
    assert read(tmp_path / "a.npy", [port(dtype="uint8", scale=0, zero_point=0)]) == [bytes([0, 1, 0, 255])]
    np.save(tmp_path / "a.npy", np.array([1, 2, 3, 4], ">i2"))
    assert read(tmp_path / "a.npy", [port(dtype="int16", scale=0)]) == [struct.pack("<4h", 1, 2, 3, 4)]


def test_several_inputs(tmp_path: Path) -> None:
    both = (*X, port((2,), "uint8", 0, 0, "y"))
    np.savez(tmp_path / "a.npz", y=np.array([[1, 2], [3, 4]]), x=np.zeros((2, 4)))
    assert read(tmp_path / "a.npz", both) == [b"\xfe\xfe\xfe\xfe\1\2", b"\xfe\xfe\xfe\xfe\3\4"]
    (tmp_path / "a.csv").write_text("a,b,c,d,e,f\r\n0,0,0,0,1,2\r\n\r\n0,0,0,0.5,3,4\r\n")
    assert read(tmp_path / "a.csv", both) == [b"\xfe\xfe\xfe\xfe\1\2", b"\xfe\xfe\xfe\xff\3\4"]
    np.savez(tmp_path / "b.npz", y=np.zeros((2, 2)), x=np.zeros((3, 4)))
    np.savez(tmp_path / "c.npz", why=np.zeros((2, 2)), x=np.zeros((3, 4)))
    for name, said in (
        ("b.npz", "has 3 and 2 vectors of its inputs"),
        ("c.npz", r"no array 'y' \(did you mean 'why'\?"),
    ):
        with pytest.raises(NeuralArtError, match=said):
            read(tmp_path / name, both)
    np.save(tmp_path / "d.npy", np.zeros(4))
    with pytest.raises(NeuralArtError, match="feeds one input, this network has 2"):
        read(tmp_path / "d.npy", both)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.bin", b"", "a.bin: 0 bytes are no whole number of vectors of 4 bytes"),
        ("a.bin", b"12345", "a.bin: 5 bytes are no whole number"),
        ("a.npy", b"", "a.npy: not a file of NumPy"),
        ("a.npy", b"\x93NUMPY\x01\x00", "a.npy: not a file of NumPy"),
        ("a.npz", b"PK\3\4", "a.npz: not a file of NumPy"),
        ("a.csv", b"", "a.csv: holds no inputs"),
        ("a.csv", b"a,b\n", "a.csv: holds no inputs"),
        ("a.csv", b"1,2,3\n", "a.csv:1: 3 numbers, a vector has 4"),
        ("a.csv", b"1,2,3,4\n1,2,x,4\n", "a.csv:2: could not convert string to float: 'x'"),
        ("a.csv", b"1,2,3,nan\n", "a.csv:1: holds values that are no numbers"),
        ("a.csv", b'1,"2', "a.csv: not a CSV file"),
        ("a.csv", b"\xff\xfe1", "a.csv: not a CSV file"),
        ("nowhere.csv", None, "nowhere.csv: cannot read"),
        ("nowhere.npy", None, "nowhere.npy: cannot read"),
    ],
    ids=range(14),
)
def test_files_that_do_not_fit(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path / name, X)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros(5), "an array of 5, tensor 'x' is 1x4 (one of 1x4, or N of them: Nx1x4)"),
        (np.zeros((0, 4)), "an array of 0x4, tensor 'x' is 1x4"),
        (np.array([0, 1, np.nan, 2]), "holds values that are no numbers"),
        (np.array(["a"] * 4), "holds <U1, not numbers"),
        (np.array([None] * 4), "not a file of NumPy: Object arrays cannot be loaded"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, array: np.ndarray, said: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path / "a.npy", X)
    assert said in str(caught.value)


def test_a_package_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("1,2,3,4\n")
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(NeuralArtError, match=r"CSV needs the Python package numpy \(pip install 'scons-neuralart\[vec"):
        read(tmp_path / "a.csv", X)


# ---- pictures

PICTURE = port((1, 2, 3, 3), "uint8", 0, 0)


def _picture(folder: Path, size: tuple[int, int], name: str = "a.png") -> np.ndarray:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    pixels = np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(size[1], size[0], 3)
    image.fromarray(pixels).save(folder / name)
    return pixels


def test_pixels_stay_what_they_are(tmp_path: Path) -> None:
    pixels = _picture(tmp_path, (3, 2))
    file = tmp_path / "a.png"
    assert read(file, [PICTURE]) == [pixels.tobytes()]
    assert read(file, [port((1, 2, 3, 3), "int8", 0.1, 5)]) == [(pixels.astype(int) - 128).astype(np.int8).tobytes()]
    assert read(file, [PICTURE], Preprocessing(color="bgr")) == [pixels[:, :, ::-1].tobytes()]
    first = port((1, 3, 2, 3), "float32", 0, 0, position="first")
    assert read(file, [first], Preprocessing(1 / 255)) == [
        (pixels.transpose(2, 0, 1) * (1 / 255)).astype("<f4").tobytes()
    ]
    scaled = read(file, [port((1, 2, 3, 3), "int8", 1 / 255, -128)], Preprocessing(1 / 255))
    assert scaled == [(pixels.astype(int) - 128).astype(np.int8).tobytes()]


def test_sizes_of_pictures(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    picture = image.new("L", (4, 8), 200)
    picture.paste(100, (0, 2, 4, 6))
    picture.save(tmp_path / "a.png")
    square = port((1, 4, 4, 1), "uint8", 0, 0)
    with pytest.raises(
        NeuralArtError, match=r"a.png: a picture of 4x8, the network takes 4x4 \(--resize fit stretches"
    ):
        read(tmp_path / "a.png", [square])
    done = {how: read(tmp_path / "a.png", [square], Preprocessing(resize=how))[0] for how in preprocessing.RESIZES}
    assert done["crop"] == bytes([100] * 16), "the middle"
    rows = np.frombuffer(done["padding"], np.uint8).reshape(4, 4)
    assert (rows[:, [0, 3]] == 0).all() and (rows[:, 1:3] >= 100).all()
    assert np.frombuffer(done["fit"], np.uint8).reshape(4, 4)[1].tolist() == [100] * 4 or done["fit"][0] > 150


def test_a_folder_in_the_order_of_its_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    pixels = _picture(tmp_path, (3, 2), "c.png")
    other = 255 - pixels
    __import__("PIL.Image").Image.fromarray(other).save(tmp_path / "b" / "z.PNG")
    (tmp_path / "notes.txt").write_text("no picture")
    assert read(tmp_path, [PICTURE]) == [other.tobytes(), pixels.tobytes()]
    (tmp_path / "empty").mkdir()
    with pytest.raises(NeuralArtError, match="empty: holds no inputs"):
        read(tmp_path / "empty", [PICTURE])


def test_pictures_that_cannot_be(tmp_path: Path) -> None:
    _picture(tmp_path, (3, 2))
    with pytest.raises(NeuralArtError, match="input 'x' is 1x4, no picture with 1 or 3 channels"):
        read(tmp_path / "a.png", X)
    data = (tmp_path / "a.png").read_bytes()
    for wrong in (b"", b"text", data[:40]):
        (tmp_path / "b.png").write_bytes(wrong)
        with pytest.raises(NeuralArtError, match="not a picture that can be read"):
            read(tmp_path / "b.png", [PICTURE])


# ---- sound


def _sound(path: Path, samples: list[int], rate: int = 16000, channels: int = 1) -> None:
    pytest.importorskip("soundfile", reason="soundfile is not installed")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))


def test_sound(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    _sound(file, [0, 16384, -32768, 8192, -8192, 0])
    waveform = port((1, 4, 1), "float32", 0, 0)
    assert read(file, [waveform]) == [struct.pack("<4f", 0, 0.5, -1, 0.25), struct.pack("<4f", -0.25, 0, 0, 0)]
    assert read(file, [port((4,), "int16", 0, 0)], Preprocessing(32768.0))[0] == struct.pack(
        "<4h", 0, 16384, -32768, 8192
    )
    _sound(file, [0, 16384, 32767, -32767], channels=2)
    assert read(file, [waveform]) == [struct.pack("<4f", 0.25, 0, 0, 0)]


def test_sounds_that_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    _sound(file, [1, 2])
    with pytest.raises(NeuralArtError, match="16000 samples per second, the network takes 8000"):
        read(file, X, Preprocessing(rate=8000))
    with pytest.raises(NeuralArtError, match="input 'x' is 2x2, no waveform"):
        read(file, [port((2, 2))])
    _sound(file, [])
    with pytest.raises(NeuralArtError, match="holds no samples"):
        read(file, X)
    file.write_bytes(b"RIFF")
    with pytest.raises(NeuralArtError, match="not a sound that can be read"):
        read(file, X)
