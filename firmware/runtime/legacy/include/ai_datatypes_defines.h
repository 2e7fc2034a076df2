/* Some applications ask for the types by this name. */
#ifndef AI_DATATYPES_DEFINES_H
#define AI_DATATYPES_DEFINES_H

#include "ai_platform.h"

#endif
