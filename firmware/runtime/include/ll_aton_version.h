/* Version of the runtime interface. Major 0 is ours, "neuralart-reference": no vendor runtime has it, so code made for
 * one is never taken for code made for the other (the guard in network.c compares all four numbers). */
#ifndef LL_ATON_VERSION_H
#define LL_ATON_VERSION_H

#define LL_ATON_VERSION_NAME "neuralart-reference"
#define LL_ATON_VERSION_MAJOR 0
#define LL_ATON_VERSION_MINOR 1
#define LL_ATON_VERSION_MICRO 0
#define LL_ATON_VERSION_DEV 0

#endif
