/* The vendor's validation protocol, answered beside the frames of the host link (docs/reference/host-link.md). Only an
 * image with the definition NEURALART_VALIDATION_LINK has it. */
#ifndef VALIDATION_LINK_H
#define VALIDATION_LINK_H

#include <stdint.h>

/* Takes the message that begins with this byte, and does what it asks for; other bytes are skipped. */
void validation_link_take(uint8_t first);
/* Cycles of the core; weak. An application for a real board defines NEURALART_CORE_HZ. */
uint32_t validation_link_cycles(void);

#endif
