"""The user's own ST Edge AI Core behind the same command as the reference compiler."""
