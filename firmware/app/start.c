#include "start.h"

#include "console.h"
#include "host_link.h"
#include "ll_aton.h"
#include "npu_memory.h"
#include "npu_memory_init.h"
#include "profile.h"
#include "text_line.h"
#include "validation_link.h"

_Noreturn void idle(void) {
  for (;;) {
    __asm__ volatile("wfi");
  }
}

_Noreturn void give_up(uint16_t code, const char *subject, const char *text) {
  host_link_error(code, subject, text);
  idle();
}

/* One line for people, the same for the host. */
static _Noreturn void memory_failed(int error) {
  static text_line_t line;
  const char *network = npu_memory_error_network(error), *pool = npu_memory_error_pool(error);
  const char *firmware, *flash;
  npu_memory_stamps(error, &firmware, &flash);
  text_add_decimal(&line, error);
  text_add(&line, " (");
  if (*network != '\0') {
    text_add(&line, "network ");
    text_add(&line, network);
    text_add(&line, ", pool ");
  }
  if (*pool != '\0') {
    text_add(&line, pool);
    text_add(&line, ": ");
  }
  text_add(&line, npu_memory_error_text(error));
  if (*firmware != '\0') {
    text_add(&line, "; firmware ");
    text_add(&line, firmware);
    text_add(&line, ", flash ");
    text_add(&line, flash);
  }
  text_add(&line, ")");
  console_puts("npu_memory_init returned ");
  console_puts(line.text);
  console_puts("\n");
  give_up(HOST_LINK_E_MEMORY, "npu_memory_init returned", line.text);
}

#ifdef NEURALART_PROFILE
void profile_line(const char *text) {
  if (!validation_link_log(text)) {
    console_puts(text);
    console_puts("\n");
  }
}
#endif

void start_application(const char *title) {
  console_init();
  console_puts("scons-neuralart ");
  console_puts(title);
  console_puts(" on ");
  console_puts(board_name);
  console_puts("\n");
  int error = npu_memory_init();
  if (error != 0) {
    memory_failed(error);
  }
#ifdef NEURALART_PROFILE
  LL_ATON_RT_SetRuntimeCallback(profile_runtime);
#endif
  LL_ATON_RT_RuntimeInit();
}
