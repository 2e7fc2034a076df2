"""Software epochs: what the vendor's closed library computes, by our own kernels."""
