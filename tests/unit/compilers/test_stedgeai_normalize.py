"""Equal inputs give equal bytes: dates, folders, the environment; and nothing else is touched."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.compilers.stedgeai import normalize as n
from neuralart.vendor.network_c.banner import banner

NOTHING = n.folders({}, {})


def one(name: str, text: str, without=NOTHING) -> str:
    return n.normalize({name: text.encode()}, without)[name].decode()


# ---- C


def c_text(folder: str, when: str) -> str:
    return (
        f'/*\n * GIT_SHA "00c0ffee"\n * Command Line options:\n * --onnx-input = "{folder}/out/my net_OE_3_3_1"\n'
        f' * --out-dir-prefix = "{folder}/ws/neural_art__n/"\n * --Os = true\n * --network-name = "n"\n */\n'
        f'#include "ll_aton.h"\nstatic const char *a = "x/y";\n/* --not-a-banner = "a/b" */\n'
        f'  .c_model_datetime = "{when}",\n  .c_compile = __DATE__ " " __TIME__,\nint MY__DATE__;\n'
        f'#define AI_TOOLS_DATE_TIME   "{when}"\n'
    )


def test_generated_c():
    text = one("n.c", c_text("/srv/a b", "2025-01-02 03:04:05"))
    assert text == one("n.c", c_text("C:\\Users\\Jo Doe", "2026-12-31T23:59:59+0200"))
    assert text.count("\n") == c_text("", "").count("\n")
    assert banner(text).options == {
        "onnx-input": "my net_OE_3_3_1",
        "out-dir-prefix": "neural_art__n/",
        "Os": "true",
        "network-name": "n",
    }
    assert 'static const char *a = "x/y";' in text
    assert '/* --not-a-banner = "a/b" */' in text
    assert '.c_model_datetime = "1970-01-01 00:00:00",' in text
    assert '.c_compile = "Jan  1 1970" " " "00:00:00",' in text
    assert "int MY__DATE__;" in text


def test_the_banner_of_the_cpu_flow():
    text = "/**\n  * @file    n.c\n  * @date    2025-03-04T10:11:12+0100\n  * @brief   words\n  */\nint a;\n"
    assert one("n_data.c", text) == text.replace("2025-03-04T10:11:12+0100", n.DATE)


def test_c_without_a_comment_and_an_open_one():
    assert one("n.h", "#define A 1\n") == "#define A 1\n"
    assert one("n.h", '/* --a = "x/y"\n') == '/* --a = "x/y"\n'
    assert one("n.h", "") == ""


def test_line_ends_of_windows_and_odd_bytes():
    assert n.normalize({"n.c": b"/* \xff\xfe */\r\nint a;\r\n"}, NOTHING)["n.c"] == b"/* \xff\xfe */\nint a;\n"


@pytest.mark.parametrize("name", ["n_atonbuf.xSPI2.raw", "m_OE_3_3_1.onnx", "n_data.bin", "n.csv"])
def test_data_is_not_touched(name):
    data = b'\r\n/srv/x @date 2025 "generated_time": "x"\r\n\xff'
    assert n.normalize({name: data}, n.folders({Path("/srv/x"): "."}, {}))[name] == data


# ---- folders


def test_folders_in_every_spelling(tmp_path):
    run = tmp_path / "deep" / "work"
    run.mkdir(parents=True)
    without = n.folders({run: ".", tmp_path: "TOP"}, {"../../m.tflite": "m.tflite"})
    windows = str(run).replace("/", "\\")
    assert without(f"a {run}/out b") == "a ./out b"
    assert without(f'"{windows}\\out"') == '".\\out"'
    assert without(json.dumps(windows)) == '"."'
    assert without(f"{run}\n{tmp_path}/x") == ".\nTOP/x"
    assert without("--model ../../m.tflite --x") == "--model m.tflite --x"
    # A name that only begins alike is another folder.
    assert without(f"{run}2/x {run}-3/x {run}.4/x") == "TOP/deep/work2/x TOP/deep/work-3/x TOP/deep/work.4/x"


def test_roots_are_no_folders_of_a_run():
    assert n.folders({Path("/"): "."}, {})("/usr/lib / x") == "/usr/lib / x"


# ---- JSON


def info(arguments="", when="2025-01-01T00:00:00+0100", signature="0x1", environment=("STATS_TYPE=a",), md5="") -> str:
    files = [{"name": "n.c", "signature": md5}, {"name": "atonbuf.xSPI2.raw", "signature": ""}]
    tool = {"name": "ST.EdgeAI.Core", "version": "4.0.1", "arguments": arguments, "environment": list(environment)}
    tool["input_model"] = {"model_files": [{"name": "m.tflite", "signature": "0x" + "5" * 32}]}
    about = {"generated_model": {"generated_time": when, "model_files": files, "name": "n"}}
    about |= {"network_signature": signature, "test_name": "", "tools": [tool]}
    return json.dumps({"environment": about, "buffers": [{"name": "/a/b:0", "scale": 0.1}]}, indent=1)


def test_the_environment_of_a_run():
    one_run = info("generate -m /srv/a/m.tflite --output ./x/out --name n", environment=())
    other = info("generate -m D:\\b\\m.tflite --output C:/y/out --name n", "2026-02-02", "0x2", ("A=1", 'B=[x]"\\'))
    text = one("n_c_info.json", one_run)
    assert text == one("n_c_info.json", other)
    found = json.loads(text)
    assert found["environment"]["tools"][0] == {
        "name": "ST.EdgeAI.Core",
        "version": "4.0.1",
        "arguments": "generate -m m.tflite --output out --name n",
        "environment": [],
        "input_model": {"model_files": [{"name": "m.tflite", "signature": "0x" + "5" * 32}]},
    }
    assert found["environment"]["network_signature"] == "0x0000000000000000"
    assert found["buffers"] == [{"name": "/a/b:0", "scale": 0.1}]


def test_signatures_of_generated_files_are_those_of_what_is_delivered():
    files = {}
    for when in ("2025-01-01", "2026-01-01"):
        code = f"/**\n  * @date    {when}\n  */\n".encode()
        md5 = "0x" + hashlib.md5(code).hexdigest()
        made = n.normalize({"n_c_info.json": info(md5=md5).encode(), "n.c": code}, NOTHING)
        files[when] = made
        listed = json.loads(made["n_c_info.json"])["environment"]["generated_model"]["model_files"]
        assert listed[0]["signature"] == "0x" + hashlib.md5(made["n.c"]).hexdigest()
        assert listed[1]["signature"] == ""
    assert files["2025-01-01"] == files["2026-01-01"]


def test_a_long_list_that_is_not_closed_takes_no_time():
    text = '{"environment": [' + '"x"' + (" " * 40 + ',\n"x"') * 4000
    assert one("x.json", text) == text


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"environment": 5}', '{"environment": {"generated_model": {"model_files": [1]}}}']
)
def test_json_of_another_form_is_left_alone(text):
    assert one("x.json", text) == text


@given(
    st.dictionaries(
        st.text(), st.recursive(st.none() | st.text() | st.floats(allow_nan=False), st.lists, max_leaves=6), max_size=4
    )
)
def test_json_stays_json(data):
    known = {"generated_time", "network_signature", "arguments", "environment"}
    text = one("x.json", json.dumps({key: value for key, value in data.items() if key not in known}))
    assert json.loads(text) == {key: value for key, value in data.items() if key not in known}


# ---- reports


def report(folder: str, when: str) -> str:
    rule = "-" * (80 + len(folder))
    return (
        f"ST Edge AI Core v4.0.1\nCreated date          : {when}\n"
        f"Parameters            : generate -m {folder}/m.tflite --name n\n\n"
        f" {rule}\n model file         :   {folder}/m.tflite{' ' * 9}\n"
        f" type               :   tflite{' ' * len(folder)}\n {rule}\n"
        "------ ------ --------\nlayer  /model/conv/Conv_0  [b:1]\nmodel: macc=1,234 weights=5\n"
        f"Compiler arguments:  -i {folder}/out/m_OE.onnx --Os\n{'=' * 84}\nelapsed time (GENERATE): {len(when)}.5s\n"
    )


def test_reports():
    text = one("n_generate_report.txt", report("/srv/somewhere/else", "2025-01-01 00:00:00"))
    assert text == one("n_generate_report.txt", report("C:\\b", "2026-01-01 00:00:00 CET"))
    assert "Parameters            : generate -m m.tflite --name n\n" in text
    assert "layer  /model/conv/Conv_0  [b:1]\n" in text
    assert "------ ------ --------\n" in text
    assert "elapsed time (GENERATE): -\n" in text
    assert max(map(len, text.splitlines())) <= 81
    assert text.count("\n") == report("", "").count("\n")


@given(st.text(alphabet="abc-=/\\ \n:*\"'._", max_size=200))
def test_twice_is_as_once(text):
    for name in ("n.c", "n.json", "n.txt"):
        once = one(name, text)
        assert one(name, once) == once
