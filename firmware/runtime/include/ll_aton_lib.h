/* Address helpers of the LL_ATON interface. The CPU runs every epoch here, so both views of memory are one. */
#ifndef LL_ATON_LIB_H
#define LL_ATON_LIB_H

#include <stdint.h>

#define ATON_LIB_VIRTUAL_TO_PHYSICAL_ADDR(address) (address)
#define ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR(address) (address)
#define LL_ATON_ALIGNED(bytes) __attribute__((aligned(bytes)))

#endif
