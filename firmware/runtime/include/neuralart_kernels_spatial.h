/* Kernels: windows and sums over height and width: transposed convolution, mean, resizing.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_SPATIAL_H
#define NEURALART_KERNELS_SPATIAL_H

#include <stdint.h>

#endif
