"""The program of the made-up installation; started by the shell script that ``install`` writes."""

import sys

sys.dont_write_bytecode = False
sys.path.insert(0, __file__.rpartition("support")[0])

from support.fake_stedgeai.commands import main  # noqa: E402 - only now it can be found

sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
