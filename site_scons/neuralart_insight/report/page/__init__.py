"""The page ``report.html``: pictures of what a build of a variant made."""
