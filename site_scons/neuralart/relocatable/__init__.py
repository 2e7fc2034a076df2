"""Relocatable models (``network_rel.bin``): format, builder, verifier, install predictor."""
