"""What a compile of ST's tools left in a folder: which files belong together, whatever they are called."""
