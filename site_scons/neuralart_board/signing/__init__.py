"""Images with the header that the boot chain of an STM32N6 reads: ours without a signature, or by the vendor's tool."""
