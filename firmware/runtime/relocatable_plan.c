/* Where everything of a relocatable model goes: the addresses that the loader was given, and the memory pools. */
#ifdef LL_ATON_RT_RELOC

#include "relocatable_steps.h"

#define MODES (AI_RELOC_RT_LOAD_MODE_XIP | AI_RELOC_RT_LOAD_MODE_COPY)
#define CACHEABLE_ABOVE 0x60000000u /* the caches serve external memory only */

static int wraps(reloc_range_t range) { return range.size != 0 && range.size - 1u > UINT32_MAX - range.start; }

static int overlap(reloc_range_t a, reloc_range_t b) {
  return a.size != 0 && b.size != 0 && (a.start - b.start < b.size || b.start - a.start < a.size);
}

static int check_memory(const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  const reloc_image_t *image = &plan->image;
  uint32_t mode = config->mode & MODES;
  if ((mode != AI_RELOC_RT_LOAD_MODE_XIP && mode != AI_RELOC_RT_LOAD_MODE_COPY) ||
      (config->mode & ~(MODES | AI_RELOC_RT_LOAD_MODE_CLEAR)) != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_NOT_SUPPORTED,
                      "the mode is not exactly one of XIP and COPY, or has unknown bits");
  }
  plan->mode = config->mode;
  uint32_t start = (uint32_t)config->exec_ram_addr;
  uint32_t size = mode == AI_RELOC_RT_LOAD_MODE_COPY ? reloc_copy_size(image) : reloc_xip_size(image);
  plan->executive = (reloc_range_t){start, size};
  if (start == 0 || start % 4u != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "executive RAM is NULL or not at a multiple of 4");
  }
  if (config->exec_ram_size < size || wraps(plan->executive)) {
    return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "executive RAM is too small (rt_ram_xip, rt_ram_copy)");
  }
  plan->rom = mode == AI_RELOC_RT_LOAD_MODE_COPY ? start : image->file;
  plan->ram = mode == AI_RELOC_RT_LOAD_MODE_COPY ? start + reloc_align8(image->ro) : start;
  return AI_RELOC_RT_ERR_NONE;
}

static int check_params(const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  const reloc_image_t *image = &plan->image;
  if (config->ext_param_addr == 0 && image->params == 0) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_ADDR, "the params are in a file of their own: ext_param_addr is missing");
  }
  plan->params = config->ext_param_addr != 0 ? (uint32_t)config->ext_param_addr : image->file + image->params;
  plan->param_0 = plan->params;
  if (plan->params % 4u != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_ADDR, "the params are not at a multiple of 4");
  }
  return AI_RELOC_RT_ERR_NONE;
}

static int check_read_only_pool(const ll_aton_reloc_mem_pool_desc *pool, reloc_kind_t kind, reloc_plan_t *plan) {
  if (kind.data != RELOC_DATA_PARAM || (kind.attributes & RELOC_ATTRIBUTE_WRITE) != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "the relative pool of the params is written to");
  }
  plan->param_0 = plan->params + pool->foff;
  if ((kind.attributes & RELOC_ATTRIBUTE_CACHEABLE) != 0 && plan->param_0 <= CACHEABLE_ABOVE) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_ADDR, "the pool of the params is cacheable: they must be above 0x60000000");
  }
  return AI_RELOC_RT_ERR_NONE;
}

static int check_external_pool(const ll_aton_reloc_mem_pool_desc *pool, reloc_kind_t kind,
                               const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  if (kind.data != RELOC_DATA_ACTIV && kind.data != RELOC_DATA_MIXED) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "the relative pool of external RAM holds params only");
  }
  reloc_range_t range = reloc_range_of((uint32_t)config->ext_ram_addr, pool->size);
  if (range.start == 0 || range.start % 4u != 0) {
    return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "external RAM (ext_ram_addr) is NULL or not at a multiple of 4");
  }
  if (config->ext_ram_size < range.size || wraps(range)) {
    return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "external RAM is too small (ext_ram_sz)");
  }
  if ((kind.attributes & RELOC_ATTRIBUTE_CACHEABLE) != 0 && range.start <= CACHEABLE_ABOVE) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_ADDR, "the pool of external RAM is cacheable: it must be above 0x60000000");
  }
  plan->param_1 = range.start;
  plan->size_1 = range.size;
  return AI_RELOC_RT_ERR_NONE;
}

/* One pool; the relative ones of each kind at most once. */
static int check_pool(const ll_aton_reloc_mem_pool_desc *pool, const ll_aton_reloc_config *config, uint32_t *relative,
                      reloc_plan_t *plan) {
  reloc_kind_t kind = reloc_kind_of(pool);
  /* The loader rounds sizes up, and a pool without bytes is no pool. */
  if (pool->size - 1u > RELOC_OFFSET) {
    return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "a memory pool of no size, or of more than 256 MiB");
  }
  if (reloc_has_data(kind)) {
    reloc_range_t data = reloc_range_of(plan->params + pool->foff, pool->size);
    if (pool->foff > UINT32_MAX - plan->params || wraps(data)) {
      return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "the data of a memory pool ends behind the last address");
    }
    if (pool->foff + data.size > plan->params_size) {
      plan->params_size = pool->foff + data.size;
    }
  }
  int data_is_wrong = kind.type == RELOC_TYPE_COPY ? !reloc_has_data(kind) : kind.data != RELOC_DATA_ACTIV;
  switch (kind.type) {
    case RELOC_TYPE_RELOC:
      if (kind.id > 1) {
        return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "a relative pool of unknown id");
      }
      if ((*relative & (1u << kind.id)) != 0) {
        return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "two relative pools of one kind");
      }
      *relative |= 1u << kind.id;
      return kind.id == 0 ? check_read_only_pool(pool, kind, plan) : check_external_pool(pool, kind, config, plan);
    case RELOC_TYPE_COPY:
    case RELOC_TYPE_RESET:
      if (pool->dst == 0 || wraps(reloc_range_of(pool->dst, pool->size)) || data_is_wrong) {
        return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC,
                          "an absolute pool without a place, or with data of the wrong kind");
      }
      return AI_RELOC_RT_ERR_NONE;
    default:
      return reloc_fail(AI_RELOC_RT_ERR_PARAM_DESC, "a memory pool of unknown type");
  }
}

static int check_pools(const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  uint32_t relative = 0;
  for (uint32_t row = 0; row < plan->image.pool_count; row++) {
    const ll_aton_reloc_mem_pool_desc *pool = &reloc_pools(&plan->image)[row];
    int error = reloc_kind_of(pool).type == RELOC_TYPE_UNUSED ? 0 : check_pool(pool, config, &relative, plan);
    if (error != 0) {
      return error;
    }
  }
  return AI_RELOC_RT_ERR_NONE;
}

/* What the model writes to is neither what it is read from nor what the loader was given for something else. */
static int check_overlaps(const reloc_plan_t *plan) {
  const reloc_range_t file = {plan->image.file, plan->image.rel_end}, params = {plan->params, plan->params_size};
  const reloc_range_t external = {plan->param_1, plan->size_1};
  if (overlap(plan->executive, file) || overlap(plan->executive, params) || overlap(plan->executive, external) ||
      overlap(external, file) || overlap(external, params)) {
    return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "executive RAM, external RAM, the image or its params overlap");
  }
  for (uint32_t row = 0; row < plan->image.pool_count; row++) {
    const ll_aton_reloc_mem_pool_desc *pool = &reloc_pools(&plan->image)[row];
    uint32_t type = reloc_kind_of(pool).type;
    reloc_range_t place = reloc_range_of(pool->dst, pool->size);
    if ((type == RELOC_TYPE_COPY || type == RELOC_TYPE_RESET) &&
        (overlap(place, plan->executive) || overlap(place, file) || overlap(place, params) ||
         overlap(place, external))) {
      return reloc_fail(AI_RELOC_RT_ERR_MEMORY, "an absolute pool of the model lies where something else was put");
    }
  }
  return AI_RELOC_RT_ERR_NONE;
}

int reloc_make_plan(const ll_aton_reloc_config *config, reloc_plan_t *plan) {
  int error = check_memory(config, plan);
  error = error != 0 ? error : check_params(config, plan);
  error = error != 0 ? error : check_pools(config, plan);
  return error != 0 ? error : check_overlaps(plan);
}

#else
typedef int relocatable_plan_is_not_compiled;
#endif
