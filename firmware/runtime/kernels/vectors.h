/* Whether the compiler turns plain loops into vector instructions for this processor. Where it does not, a loop that is
 * cut to suit vectors only costs. */
#ifndef NEURALART_VECTORS_H
#define NEURALART_VECTORS_H

#if defined(__SSE2__) || defined(__ARM_NEON)
enum { NA_VECTORS = 1 };
#else
enum { NA_VECTORS = 0 };
#endif

#endif
