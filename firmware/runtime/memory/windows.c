/* Memories behind a controller (xSPI, QSPI): this firmware does not map them, its boot chain or the application does. */
#include "access.h"
#include "steps.h"

int npu_memory_check_windows(const npu_memory_tables_t *tables) {
  for (uint32_t row = 0; row < tables->window_count; row++) {
    const npu_memory_window_t *window = &tables->windows[row];
    /* Without its clock the controller's register does not answer either. */
    if (!npu_memory_clocked(window->clock_register, window->clock) ||
        (npu_memory_read(window->control) & window->mask) != window->value) {
      return NPU_MEMORY_ERROR(NPU_MEMORY_E_WINDOW, row);
    }
  }
  return 0;
}
