/* Brings up the memories that networks use, and the constants in them, before anything reads them.
 *
 * The tables come from npu_memory_init.c, which is generated; the code is firmware/runtime/memory. Nothing in the tables
 * depends on the values of weights: sizes and checksums stand in the identity descriptor in flash.
 */
#ifndef NPU_MEMORY_H
#define NPU_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An error is (code << 8) | (row + 1); what a row is stands behind the code. */
enum {
  NPU_MEMORY_E_WINDOW = 1,     /* not memory mapped; window */
  NPU_MEMORY_E_MISSING = 2,    /* no identity descriptor; none */
  NPU_MEMORY_E_DAMAGED = 3,    /* the identity descriptor is damaged or of another version; none */
  NPU_MEMORY_E_ABI = 4,        /* the data in flash belongs to another build of the network; initializer */
  NPU_MEMORY_E_ENTRY = 5,      /* the identity descriptor does not know it at its address; initializer */
  NPU_MEMORY_E_LARGE = 6,      /* it is larger than its pool; initializer */
  NPU_MEMORY_E_CRC = 7,        /* wrong CRC where the network reads it; initializer */
  NPU_MEMORY_E_BANK = 8,       /* a memory does not keep what is written; bank */
  NPU_MEMORY_E_HOOK = 9,       /* npu_memory_rif_hook refused; none */
  NPU_MEMORY_E_NPU_CACHE = 10, /* the NPU cache does not finish a command; initializer, or none */
  NPU_MEMORY_E_MPU = 11        /* no region of the MPU is free; MPU region */
};

/* How constants reach the pool that the network reads them from. */
typedef enum {
  NPU_MEMORY_FLASH,          /* they are there: the pool is in flash */
  NPU_MEMORY_BOOT_COPY,      /* copied from a place in flash */
  NPU_MEMORY_LINK,           /* copied from an object in this image */
  NPU_MEMORY_EXTERNAL_LOADER /* somebody writes them while npu_memory_external_loader is called */
} npu_memory_strategy_t;

typedef struct {
  const char *name;
  uint8_t writable; /* probed: a word is written, read back and put back */
  uint32_t clock;   /* bits of the memory clock register; 0: always clocked */
  uint32_t ramcfg;  /* address of its control register with the shutdown bit; 0: none */
  uint32_t probe;   /* address of a word in it that a network uses */
} npu_memory_bank_t;

/* A memory that answers while (control & mask) == value; the control register while its clock runs. */
typedef struct {
  const char *name;
  uint32_t control, mask, value;
  uint32_t clock_register, clock; /* address and bits; 0: always clocked */
} npu_memory_window_t;

/* A memory that an MPU region makes Normal memory (Armv7-M). size: a power of two that divides base. */
typedef struct {
  const char *name;
  uint32_t base, size;
} npu_memory_mpu_region_t;

typedef struct {
  const char *name;
  uint8_t abi_stamp[8];
} npu_memory_network_t;

typedef struct {
  uint32_t network; /* row of networks */
  const char *pool;
  npu_memory_strategy_t strategy;
  uint8_t npu_cached;         /* the NPU reads the pool through its cache */
  uint32_t load;              /* where the bytes are in flash; 0: not there */
  uint32_t run;               /* the pool, in the alias of the CPU */
  uint32_t npu;               /* the same as the NPU addresses it */
  uint32_t capacity;          /* bytes that fit at both places */
  const uint8_t *start, *end; /* NPU_MEMORY_LINK: the object */
} npu_memory_initializer_t;

/* Addresses and bits; 0 where the board has no such thing. */
typedef struct {
  uint32_t memory_clock, memory_sleep_clock;
  uint32_t ramcfg_clock_register, ramcfg_clock;
  uint32_t shutdown;
  uint32_t npu_cache, npu_cache_clock_register, npu_cache_clock;
  uint8_t npu_cache_is_ram; /* a network uses the RAM of the NPU cache: the cache must be off */
  uint32_t rimc, rimc_value, rimc_clock_register, rimc_clock;
} npu_memory_registers_t;

typedef struct {
  npu_memory_registers_t registers;
  const npu_memory_window_t *windows;
  const npu_memory_bank_t *banks;
  const npu_memory_mpu_region_t *mpu_regions;
  const npu_memory_network_t *networks;
  const npu_memory_initializer_t *initializers;
  uint32_t window_count, bank_count, mpu_region_count, network_count, initializer_count;
  uint32_t descriptor, descriptor_capacity; /* identity descriptor in flash: address and most bytes; 0: none */
} npu_memory_tables_t;

/* The whole sequence. Returns 0 or an error; nothing is undone after an error. */
int npu_memory_bring_up(const npu_memory_tables_t *tables);

/* ---- about an error, of the last call of npu_memory_bring_up; never NULL ---- */

const char *npu_memory_error_text(int error);
/* The pool it is about; where it is about a memory, the name of that; else "descriptor" or "RIF". */
const char *npu_memory_error_pool(int error);
/* The network of the pool; empty where it is about none. */
const char *npu_memory_error_network(int error);
/* NPU_MEMORY_E_ABI: ABI stamps as 16 hex digits, of this firmware and of the data in flash; else empty. */
void npu_memory_stamps(int error, const char **firmware, const char **flash);

/* ---- what an application may define itself (weak) ---- */

/* Resource isolation: called when the banks are clocked and awake, before any of them is accessed. The default makes
 * the NPU a secure, privileged bus master of compartment 1, which is what the memories' firewalls let through after
 * reset. Not 0: refused. */
int npu_memory_rif_hook(const npu_memory_registers_t *registers);
/* Called once when pools wait for somebody else's data. The default does nothing: a debugger stops at it, writes the
 * pools and lets the core go on. */
void npu_memory_external_loader(void);

/* ---- steps that an application may use on its own ---- */

/* Writes back and drops the CPU's data cache lines of a range (32-byte lines, the range is widened). */
void npu_memory_clean_invalidate(uint32_t address, uint32_t size);
/* The same for the NPU cache (64-byte lines). Nothing to do while it is off. Not 0: it did not finish. */
int npu_memory_npu_cache_clean_invalidate(const npu_memory_registers_t *registers, uint32_t address, uint32_t size);
/* Armv7-M: makes [base, base + size) Normal memory, cached write-back, not executable. Not 0: no region is free. */
int npu_memory_mpu_normal(uint32_t base, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
