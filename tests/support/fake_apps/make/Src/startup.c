extern unsigned _estack;
int main(void);
void Reset_Handler(void) { main(); }
__attribute__((section(".isr_vector"), used)) const void *const vectors[] = {&_estack, (void *)Reset_Handler};
