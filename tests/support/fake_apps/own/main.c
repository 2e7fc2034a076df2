/* Somebody's own firmware around a network of the reference compiler. */
#include "ll_aton.h"
#include "ll_aton_NN_interface.h"
#include "npu_memory_init.h"
#include "settings.h"

LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(digits);
extern unsigned __bss_start, __bss_end;
int low(void);
int more(void);
int left(void);
int right(void);
volatile int seen;

int main(void) {
  if (npu_memory_init() != 0) {
    return 1;
  }
  seen = low() + more() + left() + right() + LEVEL + FROM_THE_PROJECT;
  LL_ATON_RT_RuntimeInit();
  LL_ATON_RT_Main(&NN_Instance_digits);
  return 0;
}

void Reset_Handler(void) {
  for (unsigned *word = &__bss_start; word != &__bss_end; word++) {
    *word = 0;
  }
  main();
  for (;;) {
  }
}
