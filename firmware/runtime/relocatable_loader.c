/* Installs a relocatable model: all checks, then the memory pools, the code (mode COPY), the data, the addresses in the
 * data, the caches, the context.
 *
 * Every check comes before the first write, and what is checked is what is used: addresses are taken from the file once
 * more instead of from memory, so that a place named twice in the relocation list is not moved twice. */
#ifdef LL_ATON_RT_RELOC

#include <stddef.h>
#include <string.h>

#include "memory/access.h"
#include "npu_memory.h"
#include "relocatable_steps.h"

/* ---- addresses ---- */

/* The real address for one of a segment; what has no segment stays. Returns 0 if it leaves its segment. */
static int translate(const reloc_plan_t *plan, uint32_t value, uint32_t *real) {
  uint32_t at = value & RELOC_OFFSET;
  switch (value >> 28) {
    case 0:
      *real = value;
      return 1;
    case RELOC_FLASH:
      *real = plan->rom + at;
      return at <= plan->image.ro;
    case RELOC_RAM:
      *real = plan->ram + at;
      return at <= plan->image.rw;
    case RELOC_PARAM_0:
      *real = plan->param_0 + at;
      return 1;
    case RELOC_PARAM_1:
      *real = plan->param_1 + at;
      return plan->size_1 != 0 && at <= plan->size_1;
    default:
      return 0;
  }
}

/* The word that an entry of the relocation list names, in the file and where it will be; 0: it may not be moved. */
static int word_of(const reloc_plan_t *plan, uint32_t entry, uint32_t *in_file, uint32_t *real) {
  const reloc_image_t *image = &plan->image;
  uint32_t at = entry & RELOC_OFFSET;
  if (at % 4u != 0) {
    return 0;
  }
  if (entry >> 28 == RELOC_RAM) {
    *in_file = image->file + image->ro + at;
    *real = plan->ram + at;
    return at < image->stored && image->stored - at >= 4u;
  }
  /* Code of clang; never the header, whose addresses stay as they are. */
  *in_file = image->file + at;
  *real = plan->rom + at;
  return entry >> 28 == RELOC_FLASH && (plan->mode & AI_RELOC_RT_LOAD_MODE_COPY) != 0 && at >= 4u * image->words &&
         at < image->ro;
}

/* All addresses of the GOT, then those of the relocation list; written only if `write`. */
static int move_addresses(const reloc_plan_t *plan, int write) {
  const reloc_image_t *image = &plan->image;
  const reloc_word_t *list = reloc_words(image->file + image->rel);
  uint32_t in_file, real, value;
  for (uint32_t at = image->got; at < image->got_end; at += 4u) {
    if (!translate(plan, *reloc_words(image->file + image->ro + at), &value)) {
      return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "an address in the GOT leaves its segment");
    }
    if (write) {
      *reloc_words(plan->ram + at) = value;
    }
  }
  for (uint32_t n = 0; n < (image->rel_end - image->rel) / 4u; n++) {
    if (!word_of(plan, list[n], &in_file, &real)) {
      return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, list[n] >> 28 == RELOC_FLASH
                                                         ? "addresses in the code (clang): only mode COPY can move them"
                                                         : "the relocation list names a word that is not in the data");
    }
    if (!translate(plan, *reloc_words(in_file), &value)) {
      return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "an address in the data leaves its segment");
    }
    if (write) {
      *reloc_words(real) = value;
    }
  }
  return AI_RELOC_RT_ERR_NONE;
}

/* ---- writes ---- */

static void fill(const reloc_plan_t *plan, uint32_t place, const ll_aton_reloc_mem_pool_desc *pool) {
  reloc_kind_t kind = reloc_kind_of(pool);
  uint32_t size = reloc_align8(pool->size);
  if (reloc_has_data(kind)) {
    memcpy(reloc_at(place), reloc_at(plan->params + pool->foff), size);
  } else if ((plan->mode & AI_RELOC_RT_LOAD_MODE_CLEAR) != 0) {
    memset(reloc_at(place), 0, size);
  } else {
    return;
  }
  npu_memory_clean_invalidate(place, size);
  if ((kind.attributes & RELOC_ATTRIBUTE_CACHEABLE) != 0) {
    ll_aton_reloc_default_callbacks.npu_cache_clean_invalidate_range(place, place + size);
  }
}

static void fill_pools(const reloc_plan_t *plan) {
  for (uint32_t row = 0; row < plan->image.pool_count; row++) {
    const ll_aton_reloc_mem_pool_desc *pool = &reloc_pools(&plan->image)[row];
    reloc_kind_t kind = reloc_kind_of(pool);
    if (kind.type == RELOC_TYPE_COPY || kind.type == RELOC_TYPE_RESET) {
      fill(plan, pool->dst, pool);
    } else if (kind.type == RELOC_TYPE_RELOC && kind.id == 1) {
      fill(plan, plan->param_1, pool);
    }
  }
}

static void fill_executive_ram(const reloc_plan_t *plan) {
  const reloc_image_t *image = &plan->image;
  if ((plan->mode & AI_RELOC_RT_LOAD_MODE_COPY) != 0) {
    memcpy(reloc_at(plan->rom), reloc_at(image->file), image->ro);
  }
  memcpy(reloc_at(plan->ram), reloc_at(image->file + image->ro), image->stored);
  memset(reloc_at(plan->ram + image->bss), 0, image->rw - image->bss);
}

static void fill_context(const reloc_plan_t *plan, NN_Instance_TypeDef *instance) {
  reloc_word_t *context = reloc_words(plan->ram + plan->image.context);
  uint32_t xip = (plan->mode & AI_RELOC_RT_LOAD_MODE_XIP) != 0 ? RELOC_STATE_XIP : 0u;
  context[RELOC_CTX_STATE] = RELOC_STATE_INSTALLED | xip;
  context[RELOC_CTX_FILE] = plan->image.file;
  context[RELOC_CTX_RAM] = plan->ram;
  context[RELOC_CTX_ROM] = plan->rom;
  context[RELOC_CTX_CALLBACKS] = (uint32_t)(uintptr_t)&ll_aton_reloc_default_callbacks;
  context[RELOC_CTX_INSTANCE] = (uint32_t)(uintptr_t)instance;
  uint32_t interface = plan->ram + (reloc_context_in_file(&plan->image)[RELOC_CTX_INTERFACE] & RELOC_OFFSET);
  instance->network = (const NN_Interface_TypeDef *)(uintptr_t)reloc_at(interface);
  instance->exec_state = (NN_Execution_State_TypeDef){.inst_reloc = plan->ram + plan->image.context};
}

/* The model's own interface: nothing but its name is ever read from it. */
static int check_interface(const reloc_image_t *image) {
  uint32_t interface = reloc_context_in_file(image)[RELOC_CTX_INTERFACE], at = interface & RELOC_OFFSET;
  if (interface >> 28 != RELOC_RAM || at % 4u != 0 || at >= image->stored) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: the runtime context");
  }
  return AI_RELOC_RT_ERR_NONE;
}

static int check(uintptr_t file_ptr, const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  int error = reloc_open(file_ptr, &plan->image);
  error = error != 0 ? error : reloc_check_environment(&plan->image);
  error = error != 0 ? error : reloc_make_plan(config, plan);
  error = error != 0 ? error : check_interface(&plan->image);
  return error != 0 ? error : move_addresses(plan, 0);
}

int ll_aton_reloc_install(uintptr_t file_ptr, const ll_aton_reloc_config *config, NN_Instance_TypeDef *nn_instance) {
  reloc_plan_t plan = {.params_size = 0};
  if (file_ptr == 0 || config == NULL || nn_instance == NULL) {
    return reloc_fail(AI_RELOC_RT_ERR_ARG, "an argument is NULL");
  }
  int error = check(file_ptr, config, &plan);
  if (error != 0) {
    return error;
  }
  fill_pools(&plan);
  fill_executive_ram(&plan);
  (void)move_addresses(&plan, 1);
  fill_context(&plan, nn_instance);
  npu_memory_clean_invalidate(plan.executive.start, plan.executive.size);
  if (plan.rom == plan.image.file) {
    /* Executed where it is: it may have come there through the data cache a moment ago. */
    npu_memory_clean_invalidate(plan.rom, plan.image.ro);
  }
  reloc_invalidate_instruction_cache();
  return reloc_fail(AI_RELOC_RT_ERR_NONE, "no error");
}

#else
typedef int relocatable_loader_is_not_compiled;
#endif
