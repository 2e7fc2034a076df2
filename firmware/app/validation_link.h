/* The vendor's validation protocol, answered beside the frames of the host link (docs/reference/host-link.md). Only an
 * image with the definition NEURALART_VALIDATION_LINK has it. */
#ifndef VALIDATION_LINK_H
#define VALIDATION_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* What the board says of itself: clocks (0: not known), and the number of its device. */
#ifndef NEURALART_CORE_HZ
#define NEURALART_CORE_HZ 0u
#endif
#ifndef NEURALART_BUS_HZ
#define NEURALART_BUS_HZ 0u
#endif
#ifndef NEURALART_NPU_HZ
#define NEURALART_NPU_HZ 0u
#endif
#define VALIDATION_STM32N6 0x486u
#ifndef NEURALART_DEVICE_ID
#ifdef __ARM_ARCH_7EM__
#define NEURALART_DEVICE_ID 0x450u /* STM32H747 */
#else
#define NEURALART_DEVICE_ID VALIDATION_STM32N6
#endif
#endif

/* Takes the message that begins with this byte, and does what it asks for; other bytes are skipped. */
void validation_link_take(uint8_t first);
/* Cycles of the core, by its debug unit; weak, for boards that count in another way. For durations, an application
 * defines NEURALART_CORE_HZ as well. */
uint32_t validation_link_cycles(void);
/* Takes a line while a host asks by this protocol: sends it, if the host keeps lines. False: nobody asks. */
bool validation_link_log(const char *text);

#endif
