/* The reference application: brings the memories up, starts the runtime, then computes what the host sends. */
#include "app_networks.h"
#include "console.h"
#include "host_link.h"
#include "npu_memory.h"
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

/* A line that is put together piece by piece; what does not fit is left out. */
static struct {
  char text[256];
  unsigned length;
} line;

static void add(const char *text) {
  while (*text != '\0' && line.length < sizeof line.text - 1) {
    line.text[line.length++] = *text++;
  }
  line.text[line.length] = '\0';
}

static void add_decimal(int value) {
  char digits[12];
  char *at = &digits[sizeof digits - 1];
  unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
  *at = '\0';
  do {
    *--at = (char)('0' + left % 10u);
    left /= 10u;
  } while (left != 0);
  if (value < 0) {
    *--at = '-';
  }
  add(at);
}

/* One line for people, the same for the host. */
static _Noreturn void memory_failed(int error) {
  const char *network = npu_memory_error_network(error), *pool = npu_memory_error_pool(error);
  const char *firmware, *flash;
  npu_memory_stamps(error, &firmware, &flash);
  add_decimal(error);
  add(" (");
  if (*network != '\0') {
    add("network ");
    add(network);
    add(", pool ");
  }
  if (*pool != '\0') {
    add(pool);
    add(": ");
  }
  add(npu_memory_error_text(error));
  if (*firmware != '\0') {
    add("; firmware ");
    add(firmware);
    add(", flash ");
    add(flash);
  }
  add(")");
  console_puts("npu_memory_init returned ");
  console_puts(line.text);
  console_puts("\n");
  give_up(HOST_LINK_E_MEMORY, "npu_memory_init returned", line.text);
}

int main(void) {
  console_init();
  console_puts("scons-neuralart reference application on ");
  console_puts(board_name);
  console_puts("\n");
  int error = npu_memory_init();
  if (error != 0) {
    memory_failed(error);
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
