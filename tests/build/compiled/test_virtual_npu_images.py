"""Images that ``neuralart relocatable build`` makes of a compiled network: the virtual NPU runs them in both modes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.relocatable.build import builder
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.format.container import parse
from neuralart_virtual.npu.relocatable import install, network_of
from neuralart_virtual.npu.run import load
from support.npu import npu_network as made
from support.npu import npu_relocatable
from support.projects.sconsproject import REPO
from support.projects.vendorproject import VendorProject
from support.relocatable import fake_pack

pytest.importorskip("numpy", reason="NumPy is not installed")
pytestmark = [pytest.mark.arm, pytest.mark.long]
BOARD = boards.load("stm32n6570-dk", [])
WEIGHTS = made.Weights()
# What network.c takes of the installation's headers, beside what every made-up one has.
HEADER = """\
#ifndef FAKE_NPU_H
#define FAKE_NPU_H
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include "ll_aton_version.h"
#include "stm32n6xx.h"
#define ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR(address) (address)
#define LL_ATON_LIB_UNUSED(name) ((void)(name))
typedef struct {
  struct { int tensor_b, tensor_h, tensor_w, tensor_c, num_elem; } dim;
  struct { int b, h, w, c; } stride;
  struct { int is_signed; } format;
  struct { unsigned char *start_offset; } mem;
} fake_tensor;
typedef struct { struct { fake_tensor input, output; int type; } general; fake_tensor is, izp; int axis; } fake_layer;
typedef fake_layer Dequantizelinear_sw_info, Softmax_sw_info;
enum { LL_SW_DEQUANTIZELINEAR, LL_SW_SOFTMAX };
enum { DataType_INT8 = 4, DataType_FLOAT = 1, CHPos_Last = 2 };
enum {
  EpochBlock_Flags_epoch_start = 1, EpochBlock_Flags_epoch_end = 2, EpochBlock_Flags_blob = 4,
  EpochBlock_Flags_last_eb = 8, EpochBlock_Flags_pure_hw = 16, EpochBlock_Flags_pure_sw = 32
};
typedef struct {
  const char *name;
  struct { unsigned char *p; } addr_base;
  uint32_t offset_start, offset_end, offset_limit;
  uint8_t is_user_allocated, is_param;
  uint16_t epoch;
  uint32_t batch;
  const uint32_t *mem_shape;
  uint16_t mem_ndims;
  uint8_t chpos;
  int8_t Qm, Qn;
  uint8_t Qunsigned, nbits, type, ndims;
  const uint32_t *shape;
} LL_Buffer_InfoTypeDef;
typedef struct {
  void (*start_epoch_block)(const void *);
  void (*end_epoch_block)(const void *);
  uintptr_t blob_address;
  uint32_t wait_mask;
  uint16_t flags;
  int16_t epoch_num, last_epoch_num;
  uint32_t rest[6];
} EpochBlock_ItemTypeDef;
static inline void ll_sw_forward_dequantizelinear(const fake_layer *layer) { (void)layer; }
static inline void ll_sw_forward_softmax(const fake_layer *layer) { (void)layer; }
static inline void LL_ATON_Cache_MCU_Invalidate_Range(uintptr_t address, uint32_t size) { (void)address, (void)size; }
void LL_ATON_Cache_MCU_Clean_Range(uintptr_t address, uint32_t size);
int fake_operator(const uint8_t *data, int count);
const char *fake_file(void);
#endif
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = fake_pack.make(tmp_path_factory.mktemp("pack") / "4.0.1", (1, 1, 3, 275))
    (root / "Middlewares/ST/AI/Npu/ll_aton/ll_aton.h").write_text(HEADER)
    return root


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("net")
    text = npu_relocatable.network_c(WEIGHTS, controller=True)
    head = "/* generated\n * --all-buffers-info = true\n * --enable-epoch-controller = true\n */\n"
    head += '#include "ll_aton.h"\nextern unsigned char _mem_pool_xSPI2_made[];\n'
    calls = "".join(f"bool LL_ATON_EC_{name}_Init_made(void) {{ return true; }}\n" for name in ("Network", "Inference"))
    (folder / "made.c").write_text(head + text + calls)
    tag = "#ifndef ECBLOB_CONST_SECTION\n#define ECBLOB_CONST_SECTION\n#endif\nECBLOB_CONST_SECTION\n"
    (folder / "made_ecblobs.h").write_text(tag + made.ecblobs_h(npu_relocatable.program(WEIGHTS)))
    (folder / "made_atonbuf.xSPI2.raw").write_bytes(WEIGHTS.data())
    return folder / "made.c"


@pytest.mark.parametrize("how", [{}, {"split": True}, {"blobs_in_params": True}, {"debug_info": False}])
def test_an_image_that_we_build(pack: Path, compiled: Path, tmp_path: Path, how: dict[str, bool]) -> None:
    """Outputs are those of the network that is not relocatable. Its last two epochs are code, which network.c tells."""
    built = builder.build(BuildRequest(compiled, tmp_path / "out", "made", pack=pack, **how))
    image = parse(built.container.image, "made_rel.bin", built.container.params)
    alone = load(made.write(tmp_path / "alone", controller=False))
    alone.set_input("image", made.image())
    expected = alone.run().outputs["scores"].tobytes()
    for mode in ("copy", "xip"):
        model = install(image, BOARD, mode)
        network = network_of(model, compiled)
        network.set_input("image", made.image())
        run = network.run()
        assert run.outputs["scores"].tobytes() == expected
        assert [epoch.label for epoch in run.epochs] == ["1", "2", "3", "4", "5", "6"]
        said = r"epoch 5 \(SW\) is computed by code" if how.get("debug_info", True) else "its epochs have no numbers"
        with pytest.raises(NeuralArtError, match=said):
            network_of(model, None)


SCONSTRUCT = f"""\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[{str(REPO / "site_scons")!r}])
project = env.NeuralArtProject("variants.yaml")
project.build(COMMAND_LINE_TARGETS)
"""
VARIANTS = """\
schema: 1
networks:
  net:
    compiler: {adopted: compiled}
    vectors: golden
variants:
  v:
    board: stm32n6570-dk
    network: net
    machine: unicorn
    relocatable: true
"""


def test_a_variant_loads_it_in_each_mode(pack: Path, compiled: Path, tmp_path: Path) -> None:
    """From flash, by its load table: the network of another repository, and the image that we built of it."""
    project = VendorProject(tmp_path / "tree", pack)
    shutil.copytree(compiled.parent, project.path("compiled"))
    project.path("SConstruct").write_text(SCONSTRUCT)
    project.path("variants.yaml").write_text(VARIANTS)
    made.write_vectors(project.path("golden"), made.write(tmp_path / "alone", controller=False))
    out = project.run("load-v", "run-v").out
    modes = [line.rpartition(", ")[2] for line in out.splitlines() if line.startswith("LOAD ")]
    assert modes == ["xip", "copy"] and out.count("v: net: 2 vectors bit-exact on unicorn (the virtual NPU exec") == 3
