"""The page ``report.html``: pictures of what a build of a variant made, each section in a file of its own."""
