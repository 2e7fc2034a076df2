"""The reference compiler: networks as C kernels on the core, byte-equal to LiteRT."""
