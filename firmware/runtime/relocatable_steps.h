/* What the parts of the loader share. Layout: docs/reference/relocatable.md. */
#ifndef RELOCATABLE_STEPS_H
#define RELOCATABLE_STEPS_H

#include "ll_aton_reloc_network.h"

/* An image is linked at segments that nothing real lies at: the highest 4 bits say which, the others are the offset. */
#define RELOC_SEGMENT 0xf0000000u
#define RELOC_OFFSET 0x0fffffffu
enum { RELOC_FLASH = 2, RELOC_RAM = 4, RELOC_PARAM_0 = 8, RELOC_PARAM_1 = 9 };

#define RELOC_POOLS 9u /* rows of a memory-pool table, without the one that ends it */

/* Words of the context, which is in the data of a model. */
enum {
  RELOC_CTX_STATE,
  RELOC_CTX_FILE,
  RELOC_CTX_RAM,
  RELOC_CTX_ROM,
  RELOC_CTX_CALLBACKS,
  RELOC_CTX_C_NAME,
  RELOC_CTX_ACTS_SZ,
  RELOC_CTX_PARAMS_SZ,
  RELOC_CTX_EXT_RAM_SZ,
  RELOC_CTX_VERSION_DESC,
  RELOC_CTX_VERSION,
  RELOC_CTX_VERSION_EXTRA,
  RELOC_CTX_PARAMS_BIN_SZ,
  RELOC_CTX_PARAMS_BIN_CRC32,
  RELOC_CTX_STRUCT_SIZES,
  RELOC_CTX_INSTANCE,
  RELOC_CTX_INTERFACE,
  RELOC_CTX_WORDS
};
#define RELOC_STATE_INSTALLED 1u
#define RELOC_STATE_XIP 2u

/* Words of the header, those that are used outside of relocatable_image.c. */
enum {
  RELOC_EC_NETWORK_INIT = 13,
  RELOC_EC_INFERENCE_INIT,
  RELOC_INPUT_SETTER,
  RELOC_INPUT_GETTER,
  RELOC_OUTPUT_SETTER,
  RELOC_OUTPUT_GETTER,
  RELOC_EPOCH_ITEMS,
  RELOC_OUTPUT_BUFFERS,
  RELOC_INPUT_BUFFERS,
  RELOC_INTERNAL_BUFFERS_24,
  RELOC_INTERNAL_BUFFERS_26 = 24
};

/* A file whose header makes sense. Offsets are from the begin of its segment, sizes in bytes. */
typedef struct {
  uint32_t file;   /* address */
  uint32_t words;  /* of the header: 24 or 26 */
  uint32_t flags;
  uint32_t ro;     /* header, code and constants; initialized data follows in the file */
  uint32_t stored; /* initialized data, GOT included */
  uint32_t bss;    /* offset */
  uint32_t rw;     /* all data */
  uint32_t got, got_end;
  uint32_t rel, rel_end; /* offsets in the file */
  uint32_t params;       /* offset in the file; 0: elsewhere */
  uint32_t context;
  uint32_t pools, pool_count;
} reloc_image_t;

/* Memory behind an address. A file is words and what a model makes of them: any type may follow. */
typedef uint32_t __attribute__((may_alias)) reloc_word_t;
static inline uint8_t *reloc_at(uint32_t address) {
  uint8_t *at = (uint8_t *)(uintptr_t)address;
  __asm__("" : "+r"(at)); /* the compiler must not reason about where this points to */
  return at;
}
static inline reloc_word_t *reloc_words(uint32_t address) { return (reloc_word_t *)(uintptr_t)reloc_at(address); }

static inline uint32_t reloc_align8(uint32_t size) { return (size + 7u) & ~7u; }
static inline uint32_t reloc_xip_size(const reloc_image_t *image) { return reloc_align8(image->rw); }
static inline uint32_t reloc_copy_size(const reloc_image_t *image) {
  return reloc_align8(image->rw) + reloc_align8(image->ro);
}
static inline const reloc_word_t *reloc_context_in_file(const reloc_image_t *image) {
  return reloc_words(image->file + image->ro + image->context);
}
static inline const ll_aton_reloc_mem_pool_desc *reloc_pools(const reloc_image_t *image) {
  return (const ll_aton_reloc_mem_pool_desc *)(uintptr_t)reloc_at(image->file + image->ro + image->pools);
}
static inline const char *reloc_text(uint32_t base, uint32_t address) {
  return (const char *)reloc_at(base + (address & RELOC_OFFSET));
}

/* Memory-pool flags: type, data, attributes, id. */
enum { RELOC_TYPE_UNUSED, RELOC_TYPE_RELOC, RELOC_TYPE_COPY, RELOC_TYPE_RESET };
enum { RELOC_DATA_PARAM = 1, RELOC_DATA_ACTIV, RELOC_DATA_MIXED };
enum { RELOC_ATTRIBUTE_WRITE = 2, RELOC_ATTRIBUTE_CACHEABLE = 4 };

typedef struct {
  uint32_t type, data, attributes, id;
} reloc_kind_t;

typedef struct {
  uint32_t start, size;
} reloc_range_t;

/* Where everything goes. */
typedef struct {
  reloc_image_t image;
  uint32_t mode;
  uint32_t rom, ram;                 /* offset 0 of the segments FLASH and RAM */
  uint32_t params;                   /* begin of the params blob */
  uint32_t params_size;              /* bytes of it that pools refer to */
  uint32_t param_0, param_1, size_1; /* offset 0 of the segments; size_1 == 0: there is no PARAM_1 */
  reloc_range_t executive;                 /* used bytes of executive RAM */
} reloc_plan_t;

static inline reloc_kind_t reloc_kind_of(const ll_aton_reloc_mem_pool_desc *pool) {
  return (reloc_kind_t){pool->flags >> 24, (pool->flags >> 16) & 0xffu, (pool->flags >> 8) & 0xffu,
                        pool->flags & 0xffu};
}

static inline int reloc_has_data(reloc_kind_t kind) {
  return kind.data == RELOC_DATA_PARAM || kind.data == RELOC_DATA_MIXED;
}

/* Bytes that a pool takes: its file is filled up to a multiple of 8. */
static inline reloc_range_t reloc_range_of(uint32_t start, uint32_t size) {
  return (reloc_range_t){start, reloc_align8(size)};
}

/* Remembers the reason, returns the error. */
int reloc_fail(int error, const char *reason);

/* Structure of a file; needs nothing of the firmware. */
int reloc_open(uintptr_t file_ptr, reloc_image_t *image);
/* Is it made for this core, this firmware and this runtime? */
int reloc_check_environment(const reloc_image_t *image);

/* Where everything of a file goes; reads, and writes nothing. */
int reloc_make_plan(const ll_aton_reloc_config *config, reloc_plan_t *plan);

/* Branches to function with r9 = data. */
uintptr_t reloc_call(uintptr_t a, uintptr_t b, uintptr_t c, uint32_t function, uint32_t data);

/* The core. */
int reloc_firmware_is_secure(void);
void reloc_invalidate_instruction_cache(void);

#endif
