"""Flash runners of programs of others, and what they share."""
