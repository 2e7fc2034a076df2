/* Software operators: the kernels of this runtime. */
#ifndef LL_SW_H
#define LL_SW_H

#include "neuralart_kernels.h"

#endif
