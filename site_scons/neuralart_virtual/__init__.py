"""Virtual boards, golden vectors, and validation of networks."""
