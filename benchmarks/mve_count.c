/* One inference of a network, counted. Prints the ticks of CALIBRATION instructions, the ticks of the inference, a hash
 * of every output, and "done". */
#include "ll_aton.h"
#include "mve_count.h"

LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(network);

int main(void);

int main(void) {
  console_init();
  calibrate();
  LL_ATON_RT_RuntimeInit();
  if (!LL_ATON_RT_Init_Network(&NN_Instance_network)) {
    console_puts("refused\ndone\n");
    return 1;
  }
  start();
  LL_ATON_RT_Main(&NN_Instance_network);
  put("inference", ticks());
  for (const LL_Buffer_InfoTypeDef *b = NN_Interface_network.output_buffers_info(); b->name != NULL; b++) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const uint8_t *at = LL_Buffer_addr_start(b); at < (const uint8_t *)LL_Buffer_addr_end(b); at++)
      hash = (hash ^ *at) * 16777619u;
    put("output", hash);
  }
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}
