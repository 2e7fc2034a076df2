"""Fleets of build servers: which of them builds which variants, and the jobs that they run."""
