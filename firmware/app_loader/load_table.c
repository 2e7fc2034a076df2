#include "load_table.h"

#include <stddef.h>

#define KNOWN (LOAD_TABLE_XIP | LOAD_TABLE_EXT | LOAD_TABLE_CLEAR | LOAD_TABLE_NO_OVERLAY)

enum { MAGIC, COUNT, FLAGS, ROWS };

static int is_empty(uint32_t value) { return value == 0 || value == UINT32_MAX; }

const char *load_table_read(const uint32_t *words, load_table_t *table, uint32_t *word) {
  *word = MAGIC;
  if (words[MAGIC] != LOAD_TABLE_MAGIC) {
    return is_empty(words[MAGIC]) ? "no load table is there: nothing was written" : "not a load table: no MREL";
  }
  *word = COUNT;
  if (words[COUNT] == 0 || words[COUNT] > LOAD_TABLE_MODELS) {
    return "the load table must name 1 to 4 models";
  }
  *word = FLAGS;
  if ((words[FLAGS] & ~KNOWN) != 0) {
    return "the load table has unknown flags";
  }
  table->count = words[COUNT];
  table->flags = words[FLAGS];
  for (uint32_t row = 0; row < table->count; row++) {
    const uint32_t *pair = &words[ROWS + 2u * row];
    *word = ROWS + 2u * row;
    if (is_empty(pair[0])) {
      return "the load table has no address of a model";
    }
    if (pair[1] == UINT32_MAX) {
      ++*word;
      return "the load table is cut off: the address of params was not written";
    }
    table->rows[row] = (load_table_row_t){.model = pair[0], .params = pair[1]};
  }
  return NULL;
}
