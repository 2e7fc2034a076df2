/* The loader of relocatable models on this machine, for tests: memory at the target's addresses, a data cache that never
 * evicts a line by itself, an instruction cache, and a model whose functions are only written down when they are called.
 *
 * One command a line, numbers in hexadecimal, one line of answer each; loader_host.py speaks it. Position independent:
 * that leaves the low gigabytes free. What a model keeps of this program's own addresses is their low half. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ll_aton.h"
#include "memory/access.h"
#include "npu_memory.h"
#include "relocatable_steps.h"

#define DCCIMVAC 0xE000EF70u
#define ICIALLU 0xE000EF50u
#define LINE 32u
enum { MEMORIES = 16 };

typedef struct {
  uint32_t base, size;
  uint8_t *ram;  /* what everybody but the core sees */
  uint8_t *code; /* what the core fetches */
} memory_t;
static memory_t memories[MEMORIES];
static unsigned memory_count;
static uint32_t cpuid, cpacr, npu_start, npu_end;
static int secure;
static uintptr_t next_result;
static char calls[4096], printed[4096];
static NN_Instance_TypeDef instance, fresh;
static struct ll_aton_reloc_callback own_callbacks;

static memory_t *memory_at(uint32_t address) {
  for (unsigned n = 0; n < memory_count; n++) {
    if (address - memories[n].base < memories[n].size) return &memories[n];
  }
  return NULL;
}

/* ---- what the loader calls ---- */

uint32_t npu_memory_read(uint32_t address) { return address == 0xE000ED00u ? cpuid : address == 0xE000ED88u ? cpacr : 0; }
uint8_t *npu_memory_at(uint32_t address, uint32_t size) {
  (void)address, (void)size;
  abort();
}
void npu_memory_barrier(void) { __asm__ volatile("" ::: "memory"); }

void npu_memory_write(uint32_t address, uint32_t value) {
  memory_t *memory = memory_at(value);
  if (address == DCCIMVAC && memory != NULL) {
    memcpy(memory->ram + (value - memory->base), (void *)(uintptr_t)value, LINE);
  }
  for (unsigned n = 0; address == ICIALLU && n < memory_count; n++) {
    memcpy(memories[n].code, memories[n].ram, memories[n].size);
  }
}

int reloc_firmware_is_secure(void) { return secure; }
void ll_aton_reloc_log(const char *text) { strncat(printed, text, sizeof printed - strlen(printed) - 1); }

uintptr_t reloc_call(uintptr_t a, uintptr_t b, uintptr_t c, uint32_t function, uint32_t data) {
  char text[128];
  snprintf(text, sizeof text, "%x(%lx,%lx,%lx)@%x;", function, (long)a, (long)b, (long)c, data);
  strncat(calls, text, sizeof calls - strlen(calls) - 1);
  return next_result;
}

static void note_npu(uint32_t start, uint32_t end) {
  npu_start = start;
  npu_end = end;
}
/* In place of the weak table. */
const struct ll_aton_reloc_callback ll_aton_reloc_default_callbacks = {.npu_cache_clean_invalidate_range = note_npu};

/* ---- commands ---- */

static void answer_hex(const uint8_t *data, uint32_t size) {
  while (size-- > 0) printf("%02x", *data++);
  printf("\n");
}

static unsigned digit(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

static void put(uint32_t address, const char *hex, int everywhere) {
  memory_t *memory = memory_at(address);
  /* sscanf would measure the rest of the line for every byte. */
  for (; digit(hex[0]) < 16 && digit(hex[1]) < 16; hex += 2, address++) {
    const uint8_t byte = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    *(uint8_t *)(uintptr_t)address = byte;
    if (everywhere) memory->ram[address - memory->base] = memory->code[address - memory->base] = byte;
  }
  printf("ok\n");
}

static void map(uint32_t base, uint32_t size, int fill) {
  void *at = (void *)(uintptr_t)base;
  if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at) abort();
  memories[memory_count++] = (memory_t){base, size, malloc(size), malloc(size)};
  memset(at, fill, size);
  memset(memory_at(base)->ram, fill, size);
  memset(memory_at(base)->code, fill, size);
  printf("ok\n");
}

/* What an instance keeps. The pointers of the static one are out of reach, so only equal or not is said of them. */
static void answer_instance(void) {
  const reloc_word_t *context = (const reloc_word_t *)instance.exec_state.inst_reloc;
  int zero = instance.exec_state.first_epoch_block == NULL && instance.exec_state.current_epoch_block == NULL &&
             !instance.exec_state.inference_started;
  printf("%lx %lx %d", (long)instance.exec_state.inst_reloc, (long)(uintptr_t)instance.network, zero);
  if (context != NULL) {
    printf(" %d %d %d", context[RELOC_CTX_INSTANCE] == (uint32_t)(uintptr_t)&instance,
           context[RELOC_CTX_CALLBACKS] == (uint32_t)(uintptr_t)&ll_aton_reloc_default_callbacks,
           context[RELOC_CTX_CALLBACKS] == (uint32_t)(uintptr_t)&own_callbacks);
  }
  printf("\n");
}

static void answer_info(uint32_t file) {
  ll_aton_reloc_info info;
  int error = ll_aton_reloc_get_info(file, &info);
  if (error != 0) {
    printf("%d|%s\n", error, ll_aton_reloc_reason());
    return;
  }
  printf("0|%s|%s|%x,%x,%x,%x,%x,%x,%x,%x,%x,%x\n", info.c_name, info.rt_version_desc, info.variant, info.code_sz,
         info.params_off, info.params_sz, info.acts_sz, info.ext_ram_sz, info.rt_ram_xip, info.rt_ram_copy,
         info.rt_version, info.rt_version_extra);
}

static void answer_call(const char *name, uint32_t number) {
  void *buffer = (void *)0x1000;
  long result = -1;
  const LL_ATON_RT_EpochBlockItem_t *item = (const LL_ATON_RT_EpochBlockItem_t *)0x2000;
  calls[0] = '\0';
  if (strcmp(name, "set_input") == 0) result = ll_aton_reloc_set_input(&instance, number, buffer, 0x40);
  if (strcmp(name, "set_output") == 0) result = ll_aton_reloc_set_output(&instance, number, buffer, 0x40);
  if (strcmp(name, "get_input") == 0) result = (long)ll_aton_reloc_get_input(&instance, number);
  if (strcmp(name, "get_output") == 0) result = (long)ll_aton_reloc_get_output(&instance, number);
  if (strcmp(name, "inputs") == 0) result = (long)ll_aton_reloc_get_input_buffers_info(&instance);
  if (strcmp(name, "outputs") == 0) result = (long)ll_aton_reloc_get_output_buffers_info(&instance);
  if (strcmp(name, "internal") == 0) result = (long)ll_aton_reloc_get_internal_buffers_info(&instance);
  if (strcmp(name, "network_init") == 0) result = ll_aton_reloc_ec_network_init(&instance);
  if (strcmp(name, "inference_init") == 0) result = ll_aton_reloc_ec_inference_init(&instance);
  if (strcmp(name, "items") == 0) result = (long)ll_aton_reloc_get_epoch_items(&instance);
  if (strcmp(name, "epoch") == 0) {
    ll_aton_reloc_call_epoch_function(&instance, (EpochBlock_FuncTypeDef)(uintptr_t)number, item);
    result = 0;
  }
  if (strcmp(name, "valid") == 0) result = ll_aton_reloc_is_valid(&instance);
  if (strcmp(name, "valid_null") == 0) result = ll_aton_reloc_is_valid(NULL);
  if (strcmp(name, "file") == 0) result = (long)ll_aton_reloc_get_file_ptr(&instance);
  if (strcmp(name, "callbacks") == 0) result = ll_aton_reloc_set_callbacks(&instance, &own_callbacks);
  if (strcmp(name, "no_callbacks") == 0) result = ll_aton_reloc_set_callbacks(&instance, NULL);
  if (strcmp(name, "handle") == 0) {
    instance = fresh;
    instance.exec_state.inst_reloc = number;
    result = 0;
  }
  printf("%ld|%s\n", result, calls);
}

int main(void) {
  static char line[1 << 20], text[1 << 20];
  uint32_t a, b, c, d, e, f, g;
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "map %x %x %x", &a, &b, &c) == 3) {
      map(a, b, (int)c);
    } else if (sscanf(line, "put %x %1048575s", &a, text) == 2) {
      put(a, text, 1);
    } else if (sscanf(line, "store %x %1048575s", &a, text) == 2) {
      put(a, text, 0);
    } else if (sscanf(line, "get %x %x", &a, &b) == 2) {
      answer_hex((uint8_t *)(uintptr_t)a, b);
    } else if (sscanf(line, "ram %x %x", &a, &b) == 2) {
      answer_hex(memory_at(a)->ram + (a - memory_at(a)->base), b);
    } else if (sscanf(line, "code %x %x", &a, &b) == 2) {
      answer_hex(memory_at(a)->code + (a - memory_at(a)->base), b);
    } else if (sscanf(line, "core %x %x %x", &a, &b, &c) == 3) {
      cpuid = a, cpacr = b, secure = (int)c;
      printf("%x\n", (uint32_t)(sizeof(LL_Buffer_InfoTypeDef) | sizeof(LL_ATON_RT_EpochBlockItem_t) << 8));
    } else if (sscanf(line, "install %x %x %x %x %x %x %x", &a, &b, &c, &d, &e, &f, &g) == 7) {
      ll_aton_reloc_config config = {b, c, d, e, f, g};
      int error = ll_aton_reloc_install(a, &config, &instance);
      printf("%d|%s|%x %x\n", error, ll_aton_reloc_reason(), npu_start, npu_end);
    } else if (sscanf(line, "null %x", &a) == 1) {
      ll_aton_reloc_config config = {0};
      int error = a == 0   ? ll_aton_reloc_install(0x1000, NULL, &instance)
                  : a == 1 ? ll_aton_reloc_install(0x1000, &config, NULL)
                  : a == 2 ? ll_aton_reloc_install(0, &config, &instance)
                           : ll_aton_reloc_get_info(0x1000, NULL);
      printf("%d|%s\n", error, ll_aton_reloc_reason());
    } else if (strcmp(line, "instance\n") == 0) {
      answer_instance();
    } else if (sscanf(line, "info %x", &a) == 1) {
      answer_info(a);
    } else if (sscanf(line, "log %x", &a) == 1) {
      printed[0] = '\0';
      int error = ll_aton_reloc_log_info(a);
      for (char *at = printed; *at != '\0'; at++) *at = *at == '\n' ? '|' : *at;
      printf("%d|%s\n", error, printed);
    } else if (sscanf(line, "pool %x %d", &a, (int *)&b) == 2) {
      const ll_aton_reloc_mem_pool_desc *pool = ll_aton_reloc_get_mem_pool_desc(a, (int)b);
      printf(pool == NULL ? "none\n" : "%x %x %x %x %x\n", pool ? pool->name : 0, pool ? pool->flags : 0,
             pool ? pool->foff : 0, pool ? pool->dst : 0, pool ? pool->size : 0);
    } else if (sscanf(line, "result %x", &a) == 1) {
      next_result = a;
      printf("ok\n");
    } else if (sscanf(line, "call %255s %x", text, &a) == 2) {
      answer_call(text, a);
    } else {
      abort();
    }
  }
  return 0;
}
