"""Flash chips and flash plans, the protocol of runners, and the virtual flash."""
