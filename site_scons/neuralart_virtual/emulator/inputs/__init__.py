"""What networks are fed with: golden vectors, files of the user's, or numbers at random."""
