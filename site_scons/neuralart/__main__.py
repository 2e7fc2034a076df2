"""The ``neuralart`` command, and ``python -m neuralart``."""

import sys


def main() -> int:
    """Run a sub-command; what ``neuralart build`` asks for may be intact, which is known before anything is loaded."""
    if sys.argv[1:2] == ["build"]:
        from neuralart import intact

        if intact.say("build", sys.argv[2:]):
            return 0
    from neuralart import cli

    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
