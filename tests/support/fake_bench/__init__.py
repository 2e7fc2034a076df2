"""Made-up boards on made-up cables: what programmers of others see, and how they are documented to fail."""
