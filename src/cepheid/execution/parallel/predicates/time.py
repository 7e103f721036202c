"""Windows of a span of time.  Time is cut into slides; the first event of a slide opens a window.

    slide 10, size 25       events    3  7   12       31        38
                            windows  [0─────────25)
                                             [10───────35)
                                                       [30────────55)

It lasts `size` from where its slide starts, without the event that closes it.  A slide without events has no window.
Sizes are spans ("10 s", a timedelta), or numbers: microseconds, or the unit of a time that is a number itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.errors import InvalidInput
from cepheid.event_time import in_microseconds
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.split_window import SplitWindow
from cepheid.spans import Span, read_span


@dataclass(slots=True)
class LastSlide:
    number: int | None = None

    def clone(self) -> LastSlide:
        return LastSlide(self.number)


class TimePredicate:
    includes_end = False

    def __init__(self, size: int | Span, slide: int | Span) -> None:
        self._size, self._slide = _read_size(size, "size"), _read_size(slide, "slide")
        if self._size < 1 or self._slide < 1:
            raise InvalidInput(f"windows of {size} time units every {slide}", hint="both must be 1 or more")

    def begin(self) -> LastSlide:
        return LastSlide()

    def opens(self, event: Event, data: LastSlide) -> bool:
        slide = event.time // self._slide
        is_new, data.number = slide != data.number, slide
        return is_new

    def closes(self, event: Event, window: SplitWindow, data: LastSlide) -> bool:  # noqa: ARG002
        return event.time >= window.first.time // self._slide * self._slide + self._size


def _read_size(given: int | Span, name: str) -> int:
    if isinstance(given, int):
        return given
    return in_microseconds(read_span(given, name, f'{name}="10 s", or a number of microseconds'))
