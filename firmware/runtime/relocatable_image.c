/* The structure of a relocatable model's file: read, and refused where it contradicts itself. Nothing says how long a
 * file is, so all there is to hold on to is that its parts follow each other. */
#ifdef LL_ATON_RT_RELOC

#include <stddef.h>

#include "relocatable_steps.h"

#define MAGIC 0x4e49424eu /* NBIN */
#define MAGIC_ELF 0x464c457fu
#define MAGIC_TFLITE 0x334c4654u /* TFL3, second word */

/* Words of the header. */
enum {
  FLAGS = 1,
  DATA_START,
  DATA_END,
  DATA_DATA,
  BSS_START,
  BSS_END,
  GOT_START,
  GOT_END,
  REL_START,
  REL_END,
  PARAMS_START,
  PARAMS_OFFSET,
  CONTEXT_24 = 23,
  CONTEXT_26 = 25
};

static const char *reason = "no error";

int reloc_fail(int error, const char *text) {
  reason = text;
  return error;
}

const char *ll_aton_reloc_reason(void) { return reason; }

static uint32_t segment(uint32_t value) { return value >> 28; }
static uint32_t offset(uint32_t value) { return value & RELOC_OFFSET; }

static const char *what_else(const reloc_word_t *word) {
  if (word[0] == MAGIC_ELF) {
    return "not a relocatable model but an ELF file";
  }
  if (word[1] == MAGIC_TFLITE) {
    return "not a relocatable model but a .tflite";
  }
  return "not a relocatable model: its first word is not NBIN";
}

/* 24 words up to version 1.1.1 of the format's makers, 26 from 1.1.3 on; nothing but the words themselves tells. */
static uint32_t header_words(const reloc_word_t *word) {
  if (segment(word[CONTEXT_24]) == RELOC_RAM) {
    return 24;
  }
  return segment(word[CONTEXT_24]) == RELOC_FLASH && segment(word[CONTEXT_26]) == RELOC_RAM ? 26 : 0;
}

static int segments_are_right(const reloc_word_t *word) {
  static const uint8_t in_ram[] = {DATA_END, BSS_START, BSS_END, GOT_START, GOT_END, PARAMS_START};
  static const uint8_t in_flash[] = {DATA_DATA, REL_START, REL_END};
  for (unsigned n = 0; n < sizeof in_ram; n++) {
    if (segment(word[in_ram[n]]) != RELOC_RAM) {
      return 0;
    }
  }
  for (unsigned n = 0; n < sizeof in_flash; n++) {
    if (segment(word[in_flash[n]]) != RELOC_FLASH) {
      return 0;
    }
  }
  return word[DATA_START] == (uint32_t)RELOC_RAM << 28;
}

static int in_order(const reloc_image_t *image, uint32_t data_end) {
  return image->ro >= 4u * image->words && image->ro % 4u == 0 && data_end <= image->bss &&
         image->got <= image->got_end && image->got_end <= image->bss && image->bss <= image->rw &&
         (image->got | image->got_end | image->rel | image->rel_end) % 4u == 0 && image->stored <= image->rel &&
         image->ro <= image->rel - image->stored && image->rel <= image->rel_end &&
         (image->params == 0 || image->params >= image->rel_end);
}

static int entries_are_code(const reloc_word_t *word, const reloc_image_t *image) {
  for (uint32_t n = RELOC_EC_NETWORK_INIT; n < image->words - 1u; n++) {
    if (segment(word[n]) != RELOC_FLASH || (word[n] & 1u) == 0 || offset(word[n]) < 4u * image->words ||
        offset(word[n]) >= image->ro) {
      return 0;
    }
  }
  return 1;
}

/* A text that ends before the code and constants do. */
static int is_text(const reloc_image_t *image, uint32_t address) {
  if (segment(address) != RELOC_FLASH) {
    return 0;
  }
  for (uint32_t at = offset(address); at < image->ro; at++) {
    if (*reloc_at(image->file + at) == 0) {
      return 1;
    }
  }
  return 0;
}

static int context_is_right(const reloc_image_t *image) {
  const uint32_t bytes = 4u * RELOC_CTX_WORDS;
  if (image->context % 4u != 0 || image->stored < bytes || image->context > image->stored - bytes) {
    return 0;
  }
  const reloc_word_t *context = reloc_context_in_file(image);
  return is_text(image, context[RELOC_CTX_C_NAME]) && is_text(image, context[RELOC_CTX_VERSION_DESC]);
}

/* Rows up to the one that is all zero. */
static const char *count_pools(reloc_image_t *image) {
  if (image->pools % 4u != 0) {
    return "damaged: the memory-pool table is not at a multiple of 4";
  }
  for (uint32_t row = 0; row <= RELOC_POOLS; row++) {
    uint32_t end = image->pools + (row + 1u) * (uint32_t)sizeof(ll_aton_reloc_mem_pool_desc);
    if (end > image->stored) {
      return "damaged: the memory-pool table has no end";
    }
    const ll_aton_reloc_mem_pool_desc *pool = &reloc_pools(image)[row];
    if ((pool->name | pool->flags | pool->foff | pool->dst | pool->size) == 0) {
      image->pool_count = row;
      return NULL;
    }
    if (row < RELOC_POOLS && !is_text(image, pool->name)) {
      return "damaged: a memory pool has no name";
    }
  }
  return "more than 9 memory pools";
}

int reloc_open(uintptr_t file_ptr, reloc_image_t *image) {
  if (file_ptr % 4u != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "the image is not at a multiple of 4");
  }
  const reloc_word_t *word = reloc_words((uint32_t)file_ptr);
  if (word[0] != MAGIC) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, what_else(word));
  }
  uint32_t words = header_words(word);
  if (words == 0 || !segments_are_right(word)) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: a word of the header is not in its segment");
  }
  uint32_t data_end = offset(word[DATA_END]), got_end = offset(word[GOT_END]);
  *image = (reloc_image_t){
      .file = (uint32_t)file_ptr,
      .words = words,
      .flags = word[FLAGS],
      .ro = offset(word[DATA_DATA]),
      .stored = data_end > got_end ? data_end : got_end,
      .bss = offset(word[BSS_START]),
      .rw = offset(word[BSS_END]),
      .got = offset(word[GOT_START]),
      .got_end = got_end,
      .rel = offset(word[REL_START]),
      .rel_end = offset(word[REL_END]),
      .params = word[PARAMS_OFFSET],
      .context = offset(word[words - 1u]),
      .pools = offset(word[PARAMS_START]),
  };
  if (image->rel == image->rel_end) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "without relocations: an .elf.bin, not a _rel.bin");
  }
  if (!in_order(image, data_end)) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: parts of the file overlap or are out of order");
  }
  /* Nothing may begin beyond the end of the address space either. */
  if ((image->params > image->rel_end ? image->params : image->rel_end) > UINT32_MAX - image->file) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: the file ends behind the last address");
  }
  if (!entries_are_code(word, image)) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: an entry point is not in the code");
  }
  if (!context_is_right(image)) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: the runtime context");
  }
  const char *wrong = count_pools(image);
  return wrong == NULL ? AI_RELOC_RT_ERR_NONE : reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, wrong);
}

int ll_aton_reloc_get_info(uintptr_t file_ptr, ll_aton_reloc_info *info) {
  reloc_image_t image;
  if (file_ptr == 0 || info == NULL) {
    return reloc_fail(AI_RELOC_RT_ERR_ARG, "an argument is NULL");
  }
  int error = reloc_open(file_ptr, &image);
  if (error != 0) {
    return error;
  }
  const reloc_word_t *context = reloc_context_in_file(&image);
  *info = (ll_aton_reloc_info){
      .c_name = reloc_text(image.file, context[RELOC_CTX_C_NAME]),
      .variant = image.flags,
      .code_sz = image.ro,
      .params_off = image.params,
      .params_sz = context[RELOC_CTX_PARAMS_SZ],
      .acts_sz = context[RELOC_CTX_ACTS_SZ],
      .ext_ram_sz = reloc_align8(context[RELOC_CTX_EXT_RAM_SZ]),
      .rt_ram_xip = reloc_xip_size(&image),
      .rt_ram_copy = reloc_copy_size(&image),
      .rt_version_desc = reloc_text(image.file, context[RELOC_CTX_VERSION_DESC]),
      .rt_version = context[RELOC_CTX_VERSION],
      .rt_version_extra = context[RELOC_CTX_VERSION_EXTRA],
  };
  return AI_RELOC_RT_ERR_NONE;
}

const ll_aton_reloc_mem_pool_desc *ll_aton_reloc_get_mem_pool_desc(uintptr_t file_ptr, int index) {
  reloc_image_t image;
  if (file_ptr == 0 || index < 0 || reloc_open(file_ptr, &image) != 0 || (uint32_t)index >= image.pool_count) {
    return NULL;
  }
  return &reloc_pools(&image)[index];
}

#else
typedef int relocatable_image_is_not_compiled;
#endif
