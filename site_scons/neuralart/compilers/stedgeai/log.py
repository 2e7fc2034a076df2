"""What the tool prints: without its progress bar, which shares the stream with everything else."""

from __future__ import annotations

import re

# tqdm: "PASS:  98%|####8| 102/104 [01:32<00:06, 3.16s/it]", the bar in block characters or digits.
_PROGRESS = re.compile(r"PASS:\s*(\d{1,3})%\|[^|\n]{0,200}\|\s*(\d{1,6})/(\d{1,6})\s*\[[^\]\n]{0,60}\]")


def progress(text: str) -> str:
    """How far a piece of output says the tool is, ``98 % (102/104)``; empty if it does not say."""
    found = _PROGRESS.findall(text)
    return f"{int(found[-1][0])} % ({found[-1][1]}/{found[-1][2]})" if found else ""


def clean(text: str) -> list[str]:
    """The lines that say something.

    Args:
        text: Everything that was printed.
    """
    plain = _PROGRESS.sub("\r", text)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", plain)]
    return [line for line in lines if line]
