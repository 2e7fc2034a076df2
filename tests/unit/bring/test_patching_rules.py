"""The rules one by one: camera resolution, input shape, numbers of activation buffers, patch lists, templates."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import CSource
from neuralart.vendor.c_info.types import CInfo, InfoBuffer
from neuralart_bring.linker_script.read import parse
from neuralart_bring.patching import network_files, patchlist
from neuralart_bring.patching import patch_values as deciding
from neuralart_bring.patching.network_files import activation_pools, image_shape, read_c_info
from neuralart_bring.patching.patch_values import array_bytes, decide
from neuralart_bring.patching.plan import renderer
from support.boards.h747_app import LINKER_TEXT, FakeNetwork, FakePool

LIST = patchlist.load("stm32h747i-disco")
LADDER = LIST.resolutions
SMALL, LARGE = "CAMERA_R320x240", "CAMERA_R640x480"
QW, QH, VW, VH = "QVGA_RES_WIDTH", "QVGA_RES_HEIGHT", "VGA_RES_WIDTH", "VGA_RES_HEIGHT"
SMALL_CROP, LARGE_CROP = (SMALL, QH, QH, 240, 240), (LARGE, VH, VH, 480, 480)
SMALL_PAD, LARGE_PAD = (SMALL, QW, QH, 320, 320), (LARGE, VW, VH, 640, 640)
SMALL_FIT, LARGE_FIT = (SMALL, QW, QH, 320, 240), (LARGE, VW, VH, 640, 480)

# mode, width, height -> resolution macro, width macro, height macro, capture buffer; None: larger than the camera.
TABLE: list[tuple[str, int, int, tuple[str, str, str, int, int] | None]] = [
    ("crop", 1, 1, SMALL_CROP),
    ("crop", 224, 224, SMALL_CROP),
    ("crop", 240, 240, SMALL_CROP),
    ("crop", 241, 240, LARGE_CROP),
    ("crop", 240, 241, LARGE_CROP),
    ("crop", 320, 240, LARGE_CROP),
    ("crop", 480, 480, LARGE_CROP),
    ("crop", 481, 480, None),
    ("crop", 480, 481, None),
    ("crop", 640, 480, None),
    ("padding", 1, 1, SMALL_PAD),
    ("padding", 240, 320, SMALL_PAD),
    ("padding", 320, 320, SMALL_PAD),
    ("padding", 321, 320, LARGE_PAD),
    ("padding", 320, 321, LARGE_PAD),
    ("padding", 640, 640, LARGE_PAD),
    ("padding", 641, 640, None),
    ("padding", 640, 641, None),
    ("fit", 1, 1, SMALL_FIT),
    ("fit", 320, 240, SMALL_FIT),
    ("fit", 240, 320, LARGE_FIT),
    ("fit", 321, 240, LARGE_FIT),
    ("fit", 320, 241, LARGE_FIT),
    ("fit", 640, 480, LARGE_FIT),
    ("fit", 641, 480, None),
    ("fit", 640, 481, None),
    ("fit", 480, 640, None),
]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("mode", "width", "height", "expected"), TABLE)
def test_camera_table(mode: str, width: int, height: int, channels: int, expected: Any) -> None:
    if expected is None:
        with pytest.raises(NeuralArtError) as caught:
            deciding.choose_camera(mode, LADDER, width, height, channels, "net")
        most = {"crop": "480x480", "padding": "640x640", "fit": "640x480"}[mode]
        assert f"{width}x{height}" in str(caught.value) and f"at most {most}" in str(caught.value)
        return
    made = deciding.choose_camera(mode, LADDER, width, height, channels)
    assert (made.constant, made.width, made.height, made.buffer_width, made.buffer_height) == expected
    assert made.crop_x == {"CAMERA_R320x240": 40, "CAMERA_R640x480": 80}[made.constant] * (mode == "crop")


@pytest.mark.parametrize(("mode", "channels"), list(itertools.product(deciding.MODES, [0, 2, 4, -1, 32])))
def test_channels_that_are_no_picture(mode: str, channels: int) -> None:
    with pytest.raises(NeuralArtError, match=f"{channels} channels; a camera application feeds 1"):
        deciding.choose_camera(mode, LADDER, 8, 8, channels)


@pytest.mark.parametrize("mode", ["", "full_screen", "Crop", "pading", "ASPECT_RATIO_FIT"])
def test_modes_that_are_none(mode: str) -> None:
    with pytest.raises(NeuralArtError, match="known: crop, fit, padding"):
        deciding.choose_camera(mode, LADDER, 8, 8, 3)


@given(st.sampled_from(deciding.MODES), st.integers(1, 700), st.integers(1, 700), st.sampled_from([1, 3]))
def test_the_smallest_resolution_whose_buffer_holds_the_input(
    mode: str, width: int, height: int, channels: int
) -> None:
    """Another way to say the table: whatever the mode makes of a resolution must contain the input."""
    rooms = [
        {"crop": (each.height,) * 2, "padding": (each.width,) * 2, "fit": (each.width, each.height)}[mode]
        for each in LADDER
    ]
    fits = [n for n, room in enumerate(rooms) if width <= room[0] and height <= room[1]]
    try:
        made = deciding.choose_camera(mode, LADDER, width, height, channels)
    except NeuralArtError:
        assert fits == []
    else:
        assert made.constant == LADDER[fits[0]].constant
        assert (made.buffer_width, made.buffer_height) == rooms[fits[0]]


@given(st.integers(0, 1 << 20))
def test_sizes_of_arrays(size: int) -> None:
    assert array_bytes(size) % 32 == 0 and size < array_bytes(size) <= size + 32
    assert deciding.whole_lines(size) % 32 == 0 and size <= deciding.whole_lines(size) < size + 32


# Input shape ----------------------------------------------------------------------------------------------------------


def buffer(shape: list[int | None], axes: list[str], first: bool = False, last: bool = False) -> InfoBuffer:
    return InfoBuffer(1, "in", 0, 0, 0, shape=tuple(shape), axes=tuple(axes), channel_first=first, channel_last=last)


@pytest.mark.parametrize(
    ("shape", "axes", "first", "last", "found"),
    [
        ([224, 192, 3], ["H", "W", "CH"], False, True, (224, 192, 3)),
        ([3, 224, 192], ["CH", "H", "W"], True, False, (224, 192, 3)),
        ([1, 224, 192, 3], ["BATCH", "H", "W", "CH"], False, True, (224, 192, 3)),
        ([None, 3, 224, 192], ["BATCH", "CH", "H", "W"], True, False, (224, 192, 3)),
        ([192, 224, 3], ["W", "H", "CH"], False, True, (224, 192, 3)),
        ([224, 192], ["H", "W"], False, False, (224, 192, 1)),
        ([224, 192, 1], [], False, True, (224, 192, 1)),
        ([3, 224, 192], [], True, False, (224, 192, 3)),
        ([1, 3, 224, 192], [], True, False, (224, 192, 3)),
        ([1, 224, 192, 1], ["H", "W", "CH"], False, True, None),
        ([224, None, 3], ["H", "W", "CH"], False, True, None),
        ([None, None, 3], ["H", "W", "CH"], False, True, None),
        ([30, 10], ["CH", "H"], True, False, None),
        ([8, 224, 192, 3], ["BATCH", "H", "W", "CH"], False, True, None),
        ([2, 224, 192, 3], ["D", "H", "W", "CH"], False, True, None),
        ([224, 192, 3], [], False, False, None),
        ([224, 192, 3], [], True, True, None),
        ([3, 224, 192], ["CH", "H", "W"], False, True, None),
        ([3, 3, 3], ["H", "H", "CH"], False, True, None),
        ([], [], False, True, None),
        ([10], ["CH"], False, True, None),
    ],
)
def test_shapes_by_their_axes(shape: Any, axes: Any, first: bool, last: bool, found: Any) -> None:
    each = buffer(shape, axes, first, last)
    if found is not None:
        assert image_shape(each, "c.json") == found
        return
    with pytest.raises(NeuralArtError) as caught:
        image_shape(each, "c.json")
    assert "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]" in str(caught.value)


def test_two_inputs_are_no_camera_application(tmp_path: Path) -> None:
    from neuralart_bring.patching.network_files import NetworkFiles, read

    folder = FakeNetwork(more={"graphs": [{"inputs": [5, 100]}]}).write(tmp_path)
    with pytest.raises(NeuralArtError, match="the network has 2 inputs"):
        read(NetworkFiles.in_folder(folder, "network"), "network")


# c_info.json ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memory_pools": []}, "'memory_pools' is missing or empty: a validation writes such files"),
        ({"graphs": None}, "'graphs' is missing or empty"),
        ({"memory_pools": [{"id": 0, "name": "x", "rights": "ACC_WRITE"}]}, "memory_pools[0] has no 'used_size_bytes'"),
        (
            {"memory_pools": [{"id": 0, "name": 3, "used_size_bytes": 0, "rights": ""}]},
            "memory_pools[0].name must be a text, not a number",
        ),
        (
            {"memory_pools": [{"id": True, "name": "", "used_size_bytes": 0, "rights": ""}]},
            "memory_pools[0].id must be a whole number, not true or false",
        ),
        (
            {"memory_pools": [{"id": 0, "name": "", "used_size_bytes": -1, "rights": ""}]},
            "memory_pools[0].used_size_bytes is -1, the least is 0",
        ),
        ({"memory_pools": {}}, "memory_pools must be a list [ ], not an object"),
        ({"buffers": [7]}, "buffers[0] must be an object { }, not a number"),
        ({"graphs": [{"inputs": ["x"]}]}, "graphs[0].inputs[0] must be a whole number, not a text"),
        ({"environment": []}, "environment must be an object { }, not a list"),
    ],
)
def test_a_c_info_that_is_wrong(change: dict[str, Any], said: str) -> None:
    data = json.dumps({**FakeNetwork().c_info(), **change}).encode()
    with pytest.raises(NeuralArtError) as caught:
        read_c_info(data, "c.json")
    assert said in str(caught.value) and str(caught.value).startswith("c.json")


def test_only_pools_that_the_application_provides() -> None:
    pools = [
        {"id": 0, "name": "A", "used_size_bytes": 10, "rights": "ACC_WRITE"},
        {"id": 1, "name": "V", "used_size_bytes": 10, "rights": "ACC_WRITE", "subpools": [0]},
        {"id": 2, "name": "U", "used_size_bytes": 10, "rights": "ACC_WRITE", "user_allocated": True},
        {"id": 3, "name": "E", "used_size_bytes": 0, "rights": "ACC_WRITE"},
        {"id": 4, "name": "R", "used_size_bytes": 10, "rights": "ACC_READ"},
    ]
    data = json.dumps({**FakeNetwork().c_info(), "memory_pools": pools}).encode()
    assert activation_pools(read_c_info(data, "c.json")) == [(0, "A", 10)]


# Numbers --------------------------------------------------------------------------------------------------------------


def info_of(network: FakeNetwork) -> CInfo:
    return read_c_info(json.dumps(network.c_info()).encode(), "c.json")


def header(text: str, name: str = "params.h") -> CSource:
    return CSource.of_text(name, text)


def headers_of(network: FakeNetwork) -> network_files.Headers:
    found = network_files.read_headers(
        [header(network.params_h()), header(network.network_h(), "network.h")], "network"
    )
    assert found is not None
    return found


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=6, unique=True), st.randoms())
def test_every_order_of_numbers_is_found(sizes: list[int], random: Any) -> None:
    order = list(range(1, len(sizes) + 1))
    random.shuffle(order)
    network = FakeNetwork([FakePool(f"P{n}", size, order[n]) for n, size in enumerate(sizes)])
    assert network_files.numbers(info_of(network), headers_of(network)) == dict(enumerate(order))


@given(st.lists(st.sampled_from([64, 128]), min_size=2, max_size=5), st.randoms())
def test_equal_sizes_need_the_generated_c(sizes: list[int], random: Any) -> None:
    order = list(range(1, len(sizes) + 1))
    random.shuffle(order)
    network = FakeNetwork([FakePool(f"P{n}", size, order[n]) for n, size in enumerate(sizes)])
    info, headers = info_of(network), headers_of(network)
    told = header(network.network_c(), "network.c")
    assert network_files.numbers(info, headers, told) == dict(enumerate(order))
    if len(set(sizes)) < len(sizes):
        with pytest.raises(NeuralArtError, match=r"is unknown \(put network\.c beside the header"):
            network_files.numbers(info, headers)


def test_one_that_is_left_needs_no_telling() -> None:
    network = FakeNetwork([FakePool("A", 64, 2), FakePool("B", 64, 1)])
    told = header(network.network_c().splitlines()[0])
    assert network_files.numbers(info_of(network), headers_of(network), told) == {0: 2, 1: 1}


def test_generated_c_of_another_compile() -> None:
    network = FakeNetwork([FakePool("A", 64, 1), FakePool("B", 128, 2)])
    wrong = header("x; inner0_array.data = AI_PTR(g_network_activations_map[1] + 0);\n", "network.c")
    with pytest.raises(NeuralArtError, match="says that pool A is activation buffer 2, but it uses 64 bytes"):
        network_files.numbers(info_of(network), headers_of(network), wrong)
    both = header(
        "inner0_array.data = AI_PTR(g_n_activations_map[0] + 0);\ninput_array.data = AI_PTR(g_n_activations_map[1]);",
        "network.c",
    )
    with pytest.raises(NeuralArtError, match=r"network\.c:2: array input_array lies in activation buffer 2"):
        network_files.numbers(info_of(network), headers_of(network), both)
    comment = header("/* inner0_array.data = AI_PTR(g_network_activations_map[1] + 0); */\n", "network.c")
    assert network_files.numbers(info_of(network), headers_of(network), comment) == {0: 1, 1: 2}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["#define AI_NETWORK_DATA_ACTIVATION_2_SIZE (4)\n"], "there for n = [2]"),
        (
            ["#define AI_NETWORK_DATA_ACTIVATIONS_COUNT (2)\n#define AI_NETWORK_DATA_ACTIVATION_1_SIZE (4)\n"],
            "COUNT is 2",
        ),
        (
            ["#define AI_NETWORK_DATA_ACTIVATION_1_SIZE (4)\n", "#define AI_NETWORK_DATA_ACTIVATION_1_SIZE (5)\n"],
            "is 5 here and 4 before",
        ),
        (["#define AI_NETWORK_DATA_ACTIVATION_1_SIZE (X)\n"], "a plain decimal or hexadecimal number"),
    ],
)
def test_headers_that_contradict_themselves(texts: list[str], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        network_files.read_headers([header(text, f"h{n}.h") for n, text in enumerate(texts)], "network")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("#define AI_NETWORK_DATA_ACTIVATIONS_COUNT (0)\n", {}),
        ("/* #define AI_NETWORK_DATA_ACTIVATION_1_SIZE (4) */", None),
        ("#define AI_OTHER_DATA_ACTIVATION_1_SIZE (4)\n", None),
        ("#define STAI_NETWORK_ACTIVATION_1_SIZE_BYTES (4)\n", None),
        ("#define AI_NETWORK_DATA_ACTIVATION_1_SIZE \\\n (0x10UL)\n", {1: 16}),
    ],
)
def test_headers(text: str, sizes: Any) -> None:
    found = network_files.read_headers([header(text)], "network")
    assert (None if found is None else dict(found.sizes)) == sizes


# Patch lists ----------------------------------------------------------------------------------------------------------


RES = "{{constant: R, width: {}, height: {}, width_symbol: W, height_symbol: H}}"
M = "{macro: M, value: x}"


def operations(listed: str) -> dict[str, str]:
    """Of one file."""
    return {"files": f"[{{path: x.h, operations: [{listed}]}}]"}


def list_text(**changes: str) -> str:
    parts = {
        "schema": "1",
        "title": "mine",
        "target": "stm32h7",
        "linker_script": "a.ld",
        "marker": '{start: " /* A */", stop: " /* B */"}',
        "camera": "{resolutions: [{constant: R, width: 4, height: 3, width_symbol: W, height_symbol: H}]}",
        "activations": '{section: ".act_{pool}", symbol: "act_{pool}"}',
        "files": '[{path: main.h, operations: [{macro: M, value: "({{ camera.constant }})"}]}]',
        **changes,
    }
    return "".join(f"{key}: {value}\n" for key, value in parts.items() if value)


def test_a_list_of_another_board_needs_no_code(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(list_text(reserve="{RAM: 4K}", root="fw/app"))
    made = patchlist.load(str(path))
    assert (made.name, made.root, made.reserve, made.bytes_per_pixel) == ("mine", "fw/app", {"RAM": 4096}, 2)
    assert made.folders == (".",)
    assert made.files[0].operations[0].key == "macro M"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "2"}, "2 is not a version"),
        ({"titel": "x"}, "unknown key 'titel'"),
        ({"files": ""}, "'files' is missing"),
        ({"files": "[]"}, "no file"),
        ({"files": "[{path: ../x.h, operations: [{macro: M, value: x}]}]"}, "must be a path within the application"),
        ({"files": "[{path: /x.h, operations: [{macro: M, value: x}]}]"}, "must be a path within the application"),
        ({"files": "[{path: C:/x.h, operations: [{macro: M, value: x}]}]"}, "must be a path within the application"),
        (operations(""), "nothing to do for this file"),
        (operations("{macro: M}"), "'value' is missing"),
        (operations("{macro: M-1, value: x}"), "is not a C name"),
        (operations("{macro: M, section: .x, value: x}"), "one of block, macro, section"),
        (operations("{value: x}"), "one of block, macro, section"),
        (operations("{block: [x], value: x}"), "means nothing for a block"),
        (operations("{section: .x, value: y, optional: true}"), "means nothing for a section"),
        (operations("{macro: M, value: x}, {macro: M, value: y}"), "a second time for x.h"),
        (
            {"files": f"[{{path: x.h, operations: [{M}]}}, {{path: x.h, operations: [{M}]}}]"},
            "'x.h' stands there twice",
        ),
        ({"marker": '{start: "x", stop: "/* y */"}'}, "a marker must be a comment"),
        ({"marker": '{start: "/* y */", stop: "/* y */"}'}, "both markers are the same"),
        ({"camera": "{resolutions: []}"}, "a camera without resolutions"),
        ({"camera": f"{{resolutions: [{RES.format(3, 4)}]}}"}, "higher than wide"),
        ({"camera": f"{{resolutions: [{RES.format(9, 9)}, {RES.format(4, 3)}]}}"}, "the smallest first"),
        ({"activations": '{section: ".act", symbol: "act_{pool}"}'}, "with {pool}"),
        ({"images": "[{name: a, of: screen, section: .a, places: [X]}]"}, "'screen' is not allowed"),
        ({"images": "[{name: a, of: camera, section: .a, places: []}]"}, "no place"),
    ],
)
def test_lists_that_are_wrong(changes: dict[str, str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(list_text(**changes))
    with pytest.raises(NeuralArtError) as caught:
        patchlist.load(str(path))
    assert said in str(caught.value) and "mine.yaml" in str(caught.value)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match="did you mean 'stm32h747i-disco'"):
        patchlist.load("stm32h747-disco")
    with pytest.raises(NeuralArtError, match="cannot read"):
        patchlist.load(str(tmp_path / "no.yaml"))


@pytest.mark.parametrize("name", patchlist.names())
def test_the_lists_of_the_package(name: str) -> None:
    made = patchlist.load(name)
    assert made.name == name and made.title and made.files


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ camera.color }}", "has no attribute 'color'"),
        ("{{ nobody }}", "'nobody' is undefined"),
        ("{% if %}", "the template does not work"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ ''.__class__.__mro__ }}", "the template does not work"),
        ("{{ camera.constant + 1 }}", "the template does not work"),
        ("{{ range(10000000) | list }}", "Range too big"),
        ("{# nothing #}", "one line is needed"),
        ("{{ '\\u2126' }}", "the template does not work"),
    ],
)
def test_templates_that_do_not_work(template: str, said: str) -> None:
    network = FakeNetwork()
    info = info_of(network)
    from neuralart_bring.patching.network_files import network_for_patching

    facts = network_for_patching(info, "network", network_files.numbers(info, headers_of(network)))
    decision = decide(LIST, facts, parse(LINKER_TEXT.encode(), "a.ld"), "fit", {}, {})
    operation = patchlist.Operation("macro", "M", template, "mine.yaml:7")
    with pytest.raises(NeuralArtError) as caught:
        renderer(decision)(operation, lambda _name: False)
    assert said in str(caught.value) and str(caught.value).startswith("mine.yaml:7: macro M")


def test_a_section_that_the_next_patch_would_not_find() -> None:
    network = FakeNetwork()
    info = info_of(network)
    from neuralart_bring.patching.network_files import network_for_patching

    facts = network_for_patching(info, "network", network_files.numbers(info, headers_of(network)))
    decision = decide(LIST, facts, parse(LINKER_TEXT.encode(), "a.ld"), "fit", {}, {})
    operation = patchlist.Operation("section", ".A", ".B_X", "mine.yaml:7")
    with pytest.raises(NeuralArtError, match="would not find again"):
        renderer(decision)(operation, lambda _name: False)
