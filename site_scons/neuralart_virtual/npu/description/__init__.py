"""Epochs from the structures of generated C: what a driver would write to the registers."""
