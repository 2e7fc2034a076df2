"""The user's own application around networks: its sources, its own build, or a program that is linked already."""
