"""What is needed to see a model run on a board: written, started, asked, in one command."""
