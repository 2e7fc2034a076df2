/* The reference application: brings the memories up, starts the runtime, then computes what the host sends. */
#include "app_networks.h"
#include "console.h"
#include "host_link.h"
#include "npu_memory_init.h"
#include "user_io.h"

static _Noreturn void idle(void) {
  for (;;) {
    __asm__ volatile("wfi");
  }
}

static _Noreturn void give_up(uint16_t code, const char *subject, const char *text) {
  host_link_error(code, subject, text);
  idle();
}

/* Decimal text of an error code. */
static const char *decimal(int value) {
  static char text[12];
  char *at = &text[sizeof text - 1];
  unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
  *at = '\0';
  do {
    *--at = (char)('0' + left % 10u);
    left /= 10u;
  } while (left != 0);
  if (value < 0) {
    *--at = '-';
  }
  return at;
}

int main(void) {
  console_init();
  console_puts("scons-neuralart reference application on ");
  console_puts(board_name);
  console_puts("\n");
  int code = npu_memory_init();
  if (code != 0) {
    give_up(HOST_LINK_E_MEMORY, "npu_memory_init returned", decimal(code));
  }
  LL_ATON_RT_RuntimeInit();
  for (unsigned n = 0; n < app_network_count; n++) {
    NN_Instance_TypeDef *instance = app_networks[n].instance;
    if (!LL_ATON_RT_Init_Network(instance)) {
      give_up(HOST_LINK_E_INIT, app_networks[n].name, "the runtime refuses the network: it runs software epochs only");
    }
    const char *wrong = user_io_provide(instance);
    if (wrong != NULL) {
      give_up(HOST_LINK_E_BUFFERS, app_networks[n].name, wrong);
    }
  }
  host_link_serve();
  idle();
}
