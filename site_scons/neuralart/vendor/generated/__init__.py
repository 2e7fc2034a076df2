"""Finds the files that a compile of ST's tools left in a folder, whatever their names."""
