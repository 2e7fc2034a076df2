"""The configuration header of an application: ``app_config.h`` and others (docs/reference/app-config.md)."""
