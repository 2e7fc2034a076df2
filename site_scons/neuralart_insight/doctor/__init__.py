"""What is on this machine, which version, and what each missing thing means for the project."""
