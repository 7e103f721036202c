"""Arrow's functions over columns, loaded when the first of them is called.

To load them takes as long as to load the rest of Arrow, and a query that is pushed a few events needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:

    class _Functions:
        def __getattr__(self, name: str) -> Any:
            import pyarrow.compute

            found = getattr(pyarrow.compute, name)
            setattr(self, name, found)
            return found

    pc = _Functions()

__all__ = ["pc"]
