/* Around the main of a program that is the user's own. */
#ifndef PROGRAM_H
#define PROGRAM_H

/* Says so on the console, where a run on a virtual board ends, and sleeps. */
_Noreturn void program_end(int status);

#endif
