/* Lines of text that profilers read, for validation_*.c alone. */
#ifndef VALIDATION_LINES_H
#define VALIDATION_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* Flags of layers. */
enum { FLAG_INTERNAL = 1, FLAG_WITHOUT_TENSOR = 4 };

/* An epoch block that is due. */
typedef struct {
  uint32_t index;
  int epoch, last; /* as the compiler numbers them; below 0: the runtime's own, behind the one before it */
  int current;     /* of both: the last one that is not below 0 */
  uint32_t kind;
  uint16_t flags;
} validation_layer_t;

/* In front of an inference, whose lines are kept or dropped; `measured`: what the option word asks to be counted. */
void validation_lines_begin(bool kept, uint32_t measured);
void validation_lines_end(void);
/* In front of a network's description, of a layer, and behind it. False: the host is gone. */
bool validation_say_config(void);
bool validation_say_begin(const validation_layer_t *layer);
bool validation_say_end(const validation_layer_t *layer, uint32_t tensors, uint32_t cycles);

#endif
