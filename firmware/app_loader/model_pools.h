/* Memory pools at addresses that models bring along: two models may want the same. */
#ifndef MODEL_POOLS_H
#define MODEL_POOLS_H

#include <stdbool.h>
#include <stdint.h>

/* True if two models (addresses of files that the loader takes) cannot be installed side by side: a pool with constants
 * of one shares bytes with a pool of the other. Activations may share, since one model runs at a time, unless
 * `no_overlay`. */
bool model_pools_collide(uintptr_t one, uintptr_t other, bool no_overlay);

#endif
