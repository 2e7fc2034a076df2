"""A firmware repository that is there already: what is in it, and the variants.yaml that builds it as it is."""
