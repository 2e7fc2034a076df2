"""Flash chips and what is written to them: flash plan, virtual programmer."""
