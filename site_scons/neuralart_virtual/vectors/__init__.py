"""Golden vectors: made of models and of files of the user."""
