"""Firmware of a user's own for a board without an NPU: a camera application that prints what it was fitted to."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.boards.h747_app import INTERFACE, LINKER, MAIN_C, MAIN_C_TEXT, ROOT, App
from support.projects.sconsproject import REPO, Project

# What the network of models/digits calls, and what stands around it.
KERNELS = "bytes conv2d depthwise_conv2d fully_connected mean move pad pool quantize requantize softmax table"
MAIN = """\
int main(void)
{
  ai_handle network = AI_HANDLE_NULL;
  static const ai_handle *buffers = NN_Activation_Buffer;
  if (ai_network_create_and_init(&network, (const ai_handle *)buffers, 0).type) return 1;
  if (ai_network_run(network, 0, 0) != 1) return 2;
  say("width", CAM_RES_WIDTH);
  say("input", input_lines());
  return 0;
}
"""
PRINTS = '#include <stdio.h>\nstatic void say(const char *what, int value) { printf("%s %d\\n", what, value); }\n'
# USART1 by hand: its clock, enable and transmit, then each letter.
SERIAL = """\
#include <stdint.h>
void say(const char *what, int value);
#define REGISTER(address) (*(volatile uint32_t *)(address))
static void put(char letter)
{
  while ((REGISTER(0x4001101cu) & (1u << 7)) == 0) {}
  REGISTER(0x40011028u) = (uint8_t)letter;
}
void say(const char *what, int value)
{
  char digits[12];
  int at = 0;
  REGISTER(0x580244f0u) |= 1u << 4;
  REGISTER(0x40011000u) |= 9u;
  while (*what) put(*what++);
  put(' ');
  do { digits[at++] = (char)('0' + value % 10); value /= 10; } while (value);
  while (at) put(digits[--at]);
  put('\\n');
}
extern uint32_t _sidata, _sdata, _edata, _sbss, _ebss, _estack;
int main(void);
void reset_handler(void)
{
  REGISTER(0xe000ed88u) |= 0xfu << 20;
  uint32_t *from = &_sidata;
  for (uint32_t *to = &_sdata; to < &_edata;) *to++ = *from++;
  for (uint32_t *to = &_sbss; to < &_ebss;) *to++ = 0;
  say("status", main());
  for (;;) __asm volatile("wfi");
}
__attribute__((section(".isr_vector"), used)) static const void *const vectors[16] = {&_estack, reset_handler};
"""
MAKEFILE = """\
CC = arm-none-eabi-gcc
FLAGS = -mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -mthumb -O1 -ffunction-sections SPECS
NET = ../../generated
INCLUDE = -IInc/CM7 -I$(NET)/network -I$(NET)/runtime/include -I$(NET)/runtime/legacy/include
SOURCES = $(wildcard Src/CM7/*.c $(NET)/network/*.c $(NET)/runtime/legacy/*.c)
SOURCES += $(patsubst %,$(NET)/runtime/kernels/%.c,KERNELS)
OBJECTS = $(patsubst %.c,out/%.o,$(notdir $(SOURCES)))
vpath %.c $(sort $(dir $(SOURCES)))
out/app.elf: $(OBJECTS) STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld
\t$(CC) $(FLAGS) -nostartfiles -T STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld -Wl,--gc-sections $(OBJECTS) -lm -o $@
out/%.o: %.c | out
\t$(CC) $(FLAGS) $(INCLUDE) -MMD -c $< -o $@
out:
\tmkdir -p $@
-include $(wildcard out/*.d)
"""
SCONSTRUCT = f"""\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[{str(REPO / "site_scons")!r}])
project = env.NeuralArtProject("variants.yaml")
project.check_targets(BUILD_TARGETS)
project.build(COMMAND_LINE_TARGETS)
"""
VARIANTS = f"""\
schema: 1
networks:
  digits: {{model: digits.tflite}}
  # What it is called in the program that is linked already.
  network: {{model: digits.tflite}}
defaults:
  variant: {{board: stm32h747i-disco, network: digits}}
variants:
  own:
    patch: {{application: firm/app, aspect_ratio: crop}}
    application:
      sources:
        files: ["firm/app/{ROOT}/Src/CM7/*.c", "!firm/app/{ROOT}/Src/CM7/serial.c"]
        include_dirs: [firm/app/{ROOT}/Inc/CM7]
        defines: [PRINTS]
  mk:
    patch: {{aspect_ratio: padding}}
    application:
      make:
        folder: firm/app
        directory: {ROOT}
        artefact: out/app.elf
        stage: generated
  done:
    network: network
    application: {{elf: build/mk/application/tree/{ROOT}/out/app.elf}}
"""


def write(root: Path, specs: str) -> Project:
    """The project, nothing built. ``specs``: flags of the C library."""
    root.mkdir(parents=True)
    main = MAIN_C_TEXT.replace("/* Pictures. */", f"#ifdef PRINTS\n{PRINTS}#else\nvoid say(const char *, int);\n#endif")
    script = (REPO / "firmware" / "h747" / LINKER).read_text("utf-8")
    texts = {
        MAIN_C: main[: main.index("int main(void)")].replace("#ifdef", "int input_lines(void);\n#ifdef", 1) + MAIN,
        LINKER: script,
        "Src/CM7/serial.c": SERIAL,
        "Makefile": MAKEFILE.replace("SPECS", specs).replace("KERNELS", KERNELS),
    }
    app = App(root / "firm", texts={f"{ROOT}/{path}": text for path, text in texts.items()})
    assert (app.root / INTERFACE).is_file()
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root)
    (root / "SConstruct").write_text(SCONSTRUCT, "utf-8")
    (root / "variants.yaml").write_text(VARIANTS, "utf-8")
    return Project(root)
