/* Parts of the loading application on this machine, for tests: memory at the target's addresses, what is read of a load
 * table and of a model's file. One command a line, numbers in hexadecimal, one line of answer each. Position independent:
 * that leaves the low gigabytes free. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "image_stamp.h"
#include "ll_aton_reloc_network.h"
#include "load_table.h"
#include "model_memory.h"
#include "model_pools.h"

enum { PAGE = 4096 };

/* Behind the bytes the next page is not there: reading on ends the process. */
static void put(uint32_t address, const char *hex) {
  uint32_t length = 0, offset = address % PAGE;
  for (unsigned byte; sscanf(&hex[2 * length], "%2x", &byte) == 1;) length++;
  uint32_t size = (offset + length + PAGE - 1) / PAGE * PAGE;
  void *at = (void *)(uintptr_t)(address - offset);
  munmap(at, size);
  if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at) abort();
  for (uint32_t n = 0; n < length; n++) {
    unsigned byte;
    sscanf(&hex[2 * n], "%2x", &byte);
    ((uint8_t *)(uintptr_t)address)[n] = (uint8_t)byte;
  }
  printf("ok\n");
}

static void table(uint32_t address) {
  load_table_t read = {0};
  uint32_t word = 99;
  const char *wrong = load_table_read((const uint32_t *)(uintptr_t)address, &read, &word);
  if (wrong != NULL) {
    printf("%u|%s\n", word, wrong);
    return;
  }
  printf("flags %x", read.flags);
  for (uint32_t n = 0; n < read.count; n++) printf(" %x:%x", read.rows[n].model, read.rows[n].params);
  printf("\n");
}

static void stamp(uint32_t file, uint32_t params) {
  image_stamp_t found;
  int error = image_stamp(file, params, &found);
  if (error != 0) {
    printf("%d|%s\n", error, ll_aton_reloc_reason());
    return;
  }
  printf("%s %x %x %x %x\n", found.text, found.params, found.params_size, found.params_crc, found.wanted_crc);
}

int main(void) {
  static char line[1 << 20], text[1 << 20];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin) != NULL) {
    unsigned a, b, c;
    if (sscanf(line, "put %x %1048575s", &a, text) == 2) {
      put(a, text);
    } else if (sscanf(line, "table %x", &a) == 1) {
      table(a);
    } else if (sscanf(line, "stamp %x %x", &a, &b) == 2) {
      stamp(a, b);
    } else if (sscanf(line, "collide %x %x %x", &a, &b, &c) == 3) {
      printf("%d\n", model_pools_collide(a, b, c != 0));
    } else if (sscanf(line, "take %x %x %x", &a, &b, &c) == 3) {
      model_memory_t memory = {a, b};
      model_memory_take(&memory, c);
      printf("%x %x\n", memory.begin, memory.size);
    } else {
      abort();
    }
  }
  return 0;
}
