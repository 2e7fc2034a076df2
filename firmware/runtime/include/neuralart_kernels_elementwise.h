/* Kernels: one value after another: arithmetic with broadcasting, activations, tables.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_ELEMENTWISE_H
#define NEURALART_KERNELS_ELEMENTWISE_H

#include <stdint.h>

#endif
