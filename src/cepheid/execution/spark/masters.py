"""What the address of a master says about where its workers are."""

from __future__ import annotations


def is_this_machine(master: str) -> bool:
    """local, local[4], local-cluster[2,1,1024].

    A standalone master on localhost is none of them: it may be one in a container, whose workers see other files.
    """
    return master.partition("[")[0] in ("local", "local-cluster")
