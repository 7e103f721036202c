"""When the windows of one key are evaluated, and what is in them then: docs/reference/windows.md, sentence by sentence.

    events of the key, window, evaluation  ->  WindowEvaluation, WindowEvaluation, ...

Every evaluation begins anew from the list of all events, so that nothing is carried along that could be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from cepheid.kernel.window import Evaluation, Window


@dataclass(frozen=True, slots=True)
class Event:
    """index: among all events; opens, closes: do the conditions of a semantic window hold?"""

    index: int
    time: int
    group: int
    opens: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class View:
    """A window as it is seen: window_start, window_end, its events."""

    start: int
    end: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class WindowEvaluation:
    """One evaluation.

    event: the index of that which brought it about, -1 if none did; views: the evaluated windows that hold events.
    about: the pairs of a window and an event of the group or (without aggregates) event a row is about.
    """

    moment: int
    event: int
    views: tuple[View, ...]
    about: tuple[tuple[View, Event], ...]


def list_evaluations(window: Window, evaluation: Evaluation, events: Sequence[Event]) -> list[WindowEvaluation]:
    """All evaluations of the windows of one key; events: at least one, in order."""
    match evaluation.when:
        case "event":
            return [_evaluate_at_event(window, events, place) for place in range(len(events))]
        case "count":
            places = range(evaluation.every - 1, len(events), evaluation.every)
            return [
                _evaluate_at(events[place].time, events[place].index, _find_at_event(window, events[: place + 1]))
                for place in places
            ]
        case "time":
            return [_evaluate_at(moment, -1, _find_at_moment(window, _up_to(events, moment), moment))
                    for moment in _list_ticks(evaluation.every, events)]  # fmt: skip
        case "close":
            return _list_closes(window, events)
    return _list_expiries(window, events)


def _evaluate_at(moment: int, event: int, views: Sequence[View]) -> WindowEvaluation:
    """Rows for all that is in the windows."""
    seen = tuple(view for view in views if view.events)
    return WindowEvaluation(moment, event, seen, tuple((view, member) for view in seen for member in view.events))


def _evaluate_at_event(window: Window, events: Sequence[Event], place: int) -> WindowEvaluation:
    """A row for the arriving event, in each window that holds it."""
    now = events[place]
    known = _up_to(events, now.time) if window.peers else events[: place + 1]
    views = tuple(view for view in _find_at_event(window, known) if now in view.events)
    return WindowEvaluation(now.time, now.index, views, tuple((view, now) for view in views))


def _list_ticks(every: int, events: Sequence[Event]) -> range:
    """Multiples of `every`: from the first at or after the first event to the first at or after the last event."""
    first, last = (-(-event.time // every) * every for event in (events[0], events[-1]))
    return range(first, last + 1, every)


def _up_to(events: Sequence[Event], moment: int) -> list[Event]:
    return [event for event in events if event.time <= moment]


def _span(events: Sequence[Event]) -> View:
    """A window that begins with its first event and ends with its last."""
    return View(events[0].time, events[-1].time, tuple(events))


# --- what is open ----------------------------------------------------------------------------------------


def _find_at_event(window: Window, known: Sequence[Event]) -> list[View]:
    """The windows when the last of the known events has entered: one that it fills or closes is still there."""
    if window.is_landmark:
        return _find_landmark(window, known)
    now = known[-1]
    match window.kind:
        case "time":
            return _find_time_windows(window, known, now.time)
        case "session":
            return [_session_view(window, _list_sessions(window, known)[-1])]
        case "semantic":
            spans = _list_semantic(window, known)
            return [_span(members) for members, closed in spans if not closed or members[-1] is now]
    size = _size_of(window)
    if window.slide is None:
        return [_span(known[-size:])]
    starts = range(0, len(known), window.slide)
    return [_span(known[start:]) for start in starts if len(known) - start <= size]


def _find_at_moment(window: Window, known: Sequence[Event], moment: int) -> list[View]:
    """The windows at a moment, when all events up to it, the known ones, have entered and what they close is closed."""
    if window.is_landmark:
        return _find_landmark(window, known)
    match window.kind:
        case "time":
            return _find_time_windows(window, known, moment)
        case "session":
            view = _session_view(window, _list_sessions(window, known)[-1])
            return [view] if moment <= view.end else []
        case "semantic":
            return [_span(members) for members, closed in _list_semantic(window, known) if not closed]
    size = _size_of(window)
    if window.slide is None:
        return [_span(known[-size:])]
    starts = range(0, len(known), window.slide)
    return [_span(known[start:]) for start in starts if len(known) - start < size]


def _size_of(window: Window) -> int:
    assert window.size is not None, "only landmarks and semantic windows have no size"
    return window.size


def _find_landmark(window: Window, known: Sequence[Event]) -> list[View]:
    if window.kind == "semantic":
        return [_span(members) for members, _ in _list_semantic(window, known)]
    return [_span(known)]


def _find_time_windows(window: Window, known: Sequence[Event], moment: int) -> list[View]:
    """(T - w, T], or those [k s, k s + w) in which the moment lies."""
    size = _size_of(window)
    if window.slide is None:
        since = moment - size - window.inclusive  # whole microseconds: [t - w is (t - w - 1
        return [View(moment - size, moment, tuple(event for event in known if since < event.time <= moment))]
    last = moment // window.slide * window.slide
    first = last - (size - 1 - (moment - last)) // window.slide * window.slide
    return [_time_view(window, known, start) for start in range(first, last + 1, window.slide)]


def _time_view(window: Window, known: Sequence[Event], start: int) -> View:
    end = start + _size_of(window)
    return View(start, end, tuple(event for event in known if start <= event.time < end))


def _list_sessions(window: Window, known: Sequence[Event]) -> list[list[Event]]:
    """Runs of events, each at most the gap after the one before it."""
    sessions: list[list[Event]] = []
    for event in known:
        if sessions and event.time - sessions[-1][-1].time <= _size_of(window):
            sessions[-1].append(event)
        else:
            sessions.append([event])
    return sessions


def _session_view(window: Window, members: Sequence[Event]) -> View:
    return View(members[0].time, members[-1].time + _size_of(window), tuple(members))


def _list_semantic(window: Window, known: Sequence[Event]) -> list[tuple[list[Event], bool]]:
    """The windows by their start: events, and whether it is closed."""
    closed: list[tuple[list[Event], bool]] = []
    opened: list[list[Event]] = []
    openings = 0
    for event in known:
        if event.opens:
            one_more = not opened and not closed if window.is_landmark else not opened
            if openings % window.slide == 0 if window.slide is not None else one_more:
                opened.append([])
            openings += 1
        for members in opened:
            members.append(event)
        if event.closes:
            closed += [(members, True) for members in opened]
            opened = []
    return closed + [(members, False) for members in opened]


# --- what closes -----------------------------------------------------------------------------------------


def _list_closes(window: Window, events: Sequence[Event]) -> list[WindowEvaluation]:
    """Each window by itself, when it has all its events, at the latest at the end."""
    last = events[-1]
    if window.is_landmark or window.is_sliding:
        return [_evaluate_at(last.time, -1, [view]) for view in _find_at_event(window, events)]
    match window.kind:
        case "time":
            return [_evaluate_at(view.end, -1, [view]) for view in _list_time_windows(window, events)]
        case "session":
            views = [_session_view(window, members) for members in _list_sessions(window, events)]
            return [_evaluate_at(view.end, -1, [view]) for view in views]
        case "semantic":
            spans = _list_semantic(window, events)
        case _:
            spans = _list_count_windows(window, events)
    return [
        _evaluate_at(members[-1].time if closed else last.time, members[-1].index if closed else -1, [_span(members)])
        for members, closed in spans
    ]


def _list_time_windows(window: Window, events: Sequence[Event]) -> list[View]:
    """All that hold events, by their start."""
    starts = {view.start for event in events for view in _find_time_windows(window, [], event.time)}
    return [_time_view(window, events, start) for start in sorted(starts)]


def _list_count_windows(window: Window, events: Sequence[Event]) -> list[tuple[list[Event], bool]]:
    """Hopping and jumping: the events of each, and whether it is full."""
    assert window.slide is not None, "a sliding window closes at the end only"
    size = _size_of(window)
    return [
        (list(events[start : start + size]), start + size <= len(events))
        for start in range(0, len(events), window.slide)
    ]


# --- what leaves -----------------------------------------------------------------------------------------


def _list_expiries(window: Window, events: Sequence[Event]) -> list[WindowEvaluation]:
    """A row for each group that lost events, over what is left; nothing leaves after the last event."""
    if window.is_landmark:
        return []
    match window.kind:
        case "time" if window.slide is None:
            return _list_sliding_expiries(window, events)
        case "time":
            return _list_hopping_expiries(window, events)
        case "session":
            views = [_session_view(window, members) for members in _list_sessions(window, events)]
            return [_evaluate_after(view.end, -1, view.events, view) for view in views[:-1]]
        case "semantic":
            return _list_semantic_expiries(window, events)
    size = _size_of(window)
    if window.slide is None:
        return [
            _evaluate_after(now.time, now.index, [gone], _span([gone, *events[place + 1 : place + size + 1]]),
                        start=events[place + 1].time)
            for place, (gone, now) in enumerate(zip(events, events[size:], strict=False))
        ]  # fmt: skip
    return [
        _evaluate_after(members[-1].time, members[-1].index, members[: window.slide], _span(members))
        for members, full in _list_count_windows(window, events)
        if full
    ]


def _evaluate_after(
    moment: int, event: int, lost: Sequence[Event], before: View, start: int | None = None
) -> WindowEvaluation:
    """Rows for those who left, with the window without them."""
    gone = {one.index for one in lost}
    left = tuple(one for one in before.events if one.index not in gone)
    view = View(before.start if start is None else start, before.end, left)
    return WindowEvaluation(moment, event, (view,) if left else (), tuple((view, one) for one in lost))


def _list_sliding_expiries(window: Window, events: Sequence[Event]) -> list[WindowEvaluation]:
    """An event leaves at its time + w, when the events of that moment are in."""
    stay = _size_of(window) + window.inclusive
    found = []
    for time, lost in groupby(events, key=lambda event: event.time):
        moment = time + stay
        if moment <= events[-1].time:
            (view,) = _find_time_windows(window, events, moment)
            found.append(
                WindowEvaluation(moment, -1, (view,) if view.events else (), tuple((view, event) for event in lost))
            )
    return found


def _list_hopping_expiries(window: Window, events: Sequence[Event]) -> list[WindowEvaluation]:
    """When [k s, k s + w) closes, the events before (k + 1) s leave."""
    assert window.slide is not None, "the window hops"
    found = []
    for view in _list_time_windows(window, events):
        lost = [event for event in view.events if event.time < view.start + window.slide]
        if lost and view.end <= events[-1].time:
            found.append(_evaluate_after(view.end, -1, lost, view))
    return found


def _list_semantic_expiries(window: Window, events: Sequence[Event]) -> list[WindowEvaluation]:
    """Nothing is left.  Those that one event closes lose their events together, each event once."""
    found = []
    closed = [members for members, is_closed in _list_semantic(window, events) if is_closed]
    for index, together in groupby(closed, key=lambda members: members[-1].index):
        longest = next(together)  # the others began later
        found.append(_evaluate_after(longest[-1].time, index, longest, _span(longest)))
    return found
