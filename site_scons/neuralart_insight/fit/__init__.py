"""``neuralart fit``: which boards a model fits, as a table, as a page and for programs."""
