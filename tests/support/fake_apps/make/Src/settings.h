#ifndef LEVEL
#define LEVEL 1
#endif
