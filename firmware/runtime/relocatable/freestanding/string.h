/* For compilers without a C library: what the kernels call, all of it in memory_functions.c. */
#ifndef NEURALART_FREESTANDING_STRING_H
#define NEURALART_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict target, const void *restrict source, size_t count);
void *memmove(void *target, const void *source, size_t count);
void *memset(void *target, int value, size_t count);
int memcmp(const void *one, const void *other, size_t count);

#endif
