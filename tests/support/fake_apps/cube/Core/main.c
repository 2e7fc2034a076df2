extern unsigned _estack;
extern const void *LL_ATON_EpochBlockItems_net(void);
volatile const void *found;

void Reset_Handler(void) {
  found = LL_ATON_EpochBlockItems_net();
  for (;;) {
  }
}
__attribute__((section(".isr_vector"), used)) const void *const vectors[] = {&_estack, (void *)Reset_Handler};
