"""Shows what is there: inspect, lint, doctor, report, profile, diff, bills of materials."""
