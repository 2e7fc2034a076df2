#include "model_pools.h"

#include <stddef.h>

#include "ll_aton_reloc_network.h"

enum { COPY = 2, RESET = 3 }; /* types of pools: contents from the params, activations */

static uint32_t type_of(const ll_aton_reloc_mem_pool_desc *pool) { return pool->flags >> 24; }

static bool is_absolute(const ll_aton_reloc_mem_pool_desc *pool) {
  return type_of(pool) == COPY || type_of(pool) == RESET;
}

static bool share_bytes(const ll_aton_reloc_mem_pool_desc *a, const ll_aton_reloc_mem_pool_desc *b) {
  return a->dst - b->dst < b->size || b->dst - a->dst < a->size;
}

bool model_pools_collide(uintptr_t one, uintptr_t other, bool no_overlay) {
  const ll_aton_reloc_mem_pool_desc *a, *b;
  for (int i = 0; (a = ll_aton_reloc_get_mem_pool_desc(one, i)) != NULL; i++) {
    for (int j = 0; (b = ll_aton_reloc_get_mem_pool_desc(other, j)) != NULL; j++) {
      bool matters = no_overlay || type_of(a) == COPY || type_of(b) == COPY;
      if (matters && is_absolute(a) && is_absolute(b) && share_bytes(a, b)) {
        return true;
      }
    }
  }
  return false;
}
