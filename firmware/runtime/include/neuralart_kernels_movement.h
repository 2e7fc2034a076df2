/* Kernels: values go elsewhere: pads, concatenations, transpositions, slices.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_MOVEMENT_H
#define NEURALART_KERNELS_MOVEMENT_H

#include <stdint.h>

#endif
