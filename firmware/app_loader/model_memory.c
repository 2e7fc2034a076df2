#include "model_memory.h"

#ifndef NEURALART_EXEC_RAM
#define NEURALART_EXEC_RAM (256 * 1024)
#endif
#ifndef NEURALART_EXT_RAM_ADDRESS
#define NEURALART_EXT_RAM_ADDRESS 0
#define NEURALART_EXT_RAM_SIZE 0
#endif

#define LINES(bytes) (((uint32_t)(bytes) + (MODEL_MEMORY_LINE - 1u)) & ~(MODEL_MEMORY_LINE - 1u))

_Static_assert(NEURALART_EXEC_RAM > 0, "models need executive RAM");
_Static_assert((uint32_t)NEURALART_EXT_RAM_ADDRESS % MODEL_MEMORY_LINE == 0, "external RAM must begin at a line");

/* Code may run there (firmware/boards/sections.ld). */
static uint8_t executive[NEURALART_EXEC_RAM] __attribute__((section(".exec_ram"), aligned(64)));

model_memory_t model_memory_executive(void) {
  return (model_memory_t){(uint32_t)(uintptr_t)executive, sizeof executive};
}

model_memory_t model_memory_external(void) {
  return (model_memory_t){(uint32_t)NEURALART_EXT_RAM_ADDRESS, (uint32_t)NEURALART_EXT_RAM_SIZE};
}

void model_memory_take(model_memory_t *memory, uint32_t bytes) {
  uint32_t lines = LINES(bytes);
  uint32_t taken = lines < bytes || lines > memory->size ? memory->size : lines;
  memory->size -= taken;
  memory->begin = memory->size == 0 ? 0 : memory->begin + taken;
}
