/* Somebody's firmware: it asks the network for its epochs and leaves the answer where a debugger finds it. */
#include "ll_aton.h"
#include "settings.h"
#if __has_include("network_io.h")
#include "network_io.h"
#endif

extern const void *LL_ATON_EpochBlockItems_net(void);
volatile const void *found;
volatile int level = LEVEL;

int main(void) {
  found = LL_ATON_EpochBlockItems_net();
  for (;;) {
  }
}
