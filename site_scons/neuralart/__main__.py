"""``python -m neuralart``."""

from neuralart.cli import main

raise SystemExit(main())
