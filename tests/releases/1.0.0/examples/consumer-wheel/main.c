/* The product: reads one drawn digit and says on the serial port which one it is. */
#include <stdint.h>
#include <string.h>

#include "digits.h"
#include "image.h"
#include "ll_aton.h"
#include "npu_memory_init.h"

LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(digits);

extern uint8_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

/* The serial port of this board: data, state (bit 0: full), control (bit 0: transmit), divider. */
static volatile uint32_t *const uart = (volatile uint32_t *)0x59303000u;

static void say(const char *text) {
  for (; *text; text++) {
    while (uart[1] & 1u) {
    }
    uart[0] = (uint8_t)*text;
  }
}

static int largest(const int8_t *values, uint32_t count) {
  int best = 0;
  for (uint32_t i = 1; i < count; i++)
    if (values[i] > values[best]) best = (int)i;
  return best;
}

static int recognize(void) {
  if (npu_memory_init() != 0) return -1;
  LL_ATON_RT_RuntimeInit();
  if (!LL_ATON_RT_Init_Network(&NN_Instance_digits)) return -1;
  const LL_Buffer_InfoTypeDef *input = LL_ATON_Input_Buffers_Info_digits();
  const LL_Buffer_InfoTypeDef *output = LL_ATON_Output_Buffers_Info_digits();
  if (LL_Buffer_len(input) != sizeof image) return -1;
  memcpy(LL_Buffer_addr_start(input), image, sizeof image);
  LL_ATON_RT_Main(&NN_Instance_digits);
  return largest((const int8_t *)LL_Buffer_addr_start(output), LL_Buffer_len(output));
}

__attribute__((noreturn, used)) void start(void) {
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* the floating-point unit */
  __asm__ volatile("dsb\n\tisb");
  memcpy(data_start, data_load, (size_t)(data_end - data_start));
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  uart[4] = 16;
  uart[2] = 1;
  char text[] = "doorbell: digit ?\n";
  int digit = recognize();
  if (digit >= 0) text[16] = (char)('0' + digit);
  say(text);
  for (;;) __asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {stack_top, (void *)start};
