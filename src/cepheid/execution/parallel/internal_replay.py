"""After a late event: ask the predicate again, and tell the instances only what has changed (Algorithm 4, 6.1).

    windows before   ├──── w7 ────┤     ├──── w8 ────┤
    late event             ▲
    windows now      ├──── w7 ───┤      ...              CloseWindow w7, ADD to w8, ...

    predicate  known before   what is said (Figures 6-3 and 6-4)
    opens      yes            nothing: the window stays, with its number and its instance
    opens      no             OpenWindow; not at once: if the next event opens no more the window that it opened
                              before, that one starts earlier instead: ADD (6.1.3)
    does not   yes            ADD as above, or DEL
    closes     yes            nothing
    closes     no             CloseWindow
    does not   yes            NOTCLOSE

Events are sent only to instances that did not have them.  Other than the thesis:
- END is said once, after the replay (6.2.4), not for each event as Algorithm 4 prints it.
- A window that waits for the next event is asked at once whether its own first event closes it; if so it does not wait.
- A checkpoint within a replay may have a window that waits.  When a later replay goes back to it, what became of that
  window is known and is found by its first event.
- The replay ends where the splitter had been: events in the queue have never been sent, and follow as all do.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.messages import Add, CloseWindow, Delete, NotClosed
from cepheid.execution.parallel.split_window import NOBODY, SplitWindow
from cepheid.execution.parallel.splitting import Splitting


class InternalReplay:
    """before: all windows as they were when the late event came."""

    def __init__(self, splitter: Splitting, before: tuple[SplitWindow, ...]) -> None:
        self._splitter = splitter
        self._by_first = {window.first: window for window in before}
        self._by_number = {window.number: window for window in before}

    def run(self, until: EventName) -> None:
        splitter = self._splitter
        self._resume_pending()
        for upcoming in splitter.events.list_between(splitter.position, until):
            splitter.save_if_due(upcoming)
            event = splitter.events[upcoming]
            self._open(event, is_last=upcoming == until)
            self._close(event)
            splitter.pass_on(event, late=True)
            splitter.move_to(upcoming)

    def _resume_pending(self) -> None:
        pending = self._splitter.state.pending
        known = self._by_first.get(pending.first) if pending else None
        if pending and known:
            self._splitter.state.pending = None
            self._keep(replace(pending, number=known.number, instance=known.instance))

    # --- where windows start -----------------------------------------------------------------------------
    def _open(self, event: Event, is_last: bool) -> None:
        splitter, state = self._splitter, self._splitter.state
        known = self._by_first.get(event.name)
        if splitter.predicate.opens(event, state.data):
            self._start_pending()
            asked = SplitWindow(NOBODY, event.name, state.rank, NOBODY)
            if known:
                self._keep(replace(asked, number=known.number, instance=known.instance))
            elif is_last:
                splitter.start(asked)
            else:
                state.pending = asked
        elif not known:
            self._start_pending()
        elif state.pending:
            earlier, state.pending = state.pending, None
            self._keep(replace(earlier, number=known.number, instance=known.instance))
            splitter.send_event([known.instance], splitter.events[earlier.first], late=True)
            splitter.send(known.instance, Add(known.number, earlier.first))
        else:
            splitter.send(known.instance, Delete(known.number))

    def _keep(self, window: SplitWindow) -> None:
        """The scheduler passes it by as if it had been given away now."""
        self._splitter.choose_instance(window.first)
        self._splitter.state.windows = (*self._splitter.state.windows, window)

    def _start_pending(self) -> SplitWindow | None:
        state = self._splitter.state
        pending, state.pending = state.pending, None
        if not pending:
            return None
        window = self._splitter.start(pending)
        self._splitter.send_event([window.instance], self._splitter.events[window.first], late=True)
        return window

    # --- where windows end -------------------------------------------------------------------------------
    def _close(self, event: Event) -> None:
        splitter, state = self._splitter, self._splitter.state
        still_open = []
        for window in state.windows:
            known = self._by_number.get(window.number)
            closed_here = known is not None and known.end == event.name
            if not splitter.predicate.closes(event, window, state.data):
                still_open.append(window)
                if closed_here:
                    splitter.send(window.instance, NotClosed(window.number))
                continue
            splitter.closed.append(replace(window, end=event.name))
            if not closed_here:
                splitter.send(window.instance, CloseWindow(window.number, event.name))
        state.windows = tuple(still_open)
        if state.pending and splitter.predicate.closes(event, state.pending, state.data):
            self._start_pending()
            *others, window = splitter.state.windows
            splitter.state.windows = tuple(others)
            splitter.closed.append(replace(window, end=event.name))
            splitter.send(window.instance, CloseWindow(window.number, event.name))
