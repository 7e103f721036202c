"""SEQ whose steps say themselves how they follow one another, as places and ways (kernel/sequence_flow.py).

Each item becomes a `Part`: entries, by which one comes into it, and exits, the places where it is complete.  Parts are
put together by ways from the exits of one to the entries of the next:

    a NEXT b{1,2} FOLLOWED BY c        0 -a-> 1 -b-> 2 -b-> 3        c may be entered from 2 and from 3
    a, ~x, b                           an x closes the way to b
    a, ~x FOR 2 s                      a way that time takes, and an x closes
    (a & b)                            a place for each set of them that is there already

What is optional is passed by: the exits before it are also those behind it, and its entries are beside those of what
follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Literal

from cepheid.errors import InvalidQuery, InvalidWithin, NotSupportedYet
from cepheid.kernel.pattern import Strategy
from cepheid.kernel.sequence_flow import AT_DEADLINE, Bar, Contiguity, Flow, Place, Round, Way
from cepheid.language.expressions.bind_order import read_within
from cepheid.language.parsing.syntax import (
    Link,
    Repeats,
    SequenceClause,
    SequenceItems,
    SequenceTerm,
    TermGroup,
    walk_terms,
)

MOST_PLACES = 5_000
BY_STRATEGY: dict[Strategy, Contiguity] = {
    "skip_till_any": "any", "skip_till_next": "followed", "strict": "next", "partition_contiguity": "next",
}  # fmt: skip
LATER_HINT = "put an event in front of it, or say for how long: ~cancels c FOR INTERVAL '2' SECOND"


@dataclass(frozen=True, slots=True)
class Follows:
    """How an item follows what stands before it; ways of one scope are closed by an event that fits one of them."""

    contiguity: Contiguity
    scope: int


@dataclass(frozen=True, slots=True)
class Gap:
    """An absence between two items."""

    variable: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """An event that closes a way, or all ways into the group of the way; or lets its time begin anew."""

    variable: str
    closes: Literal["way", "group"] = "way"
    before: bool = False
    refuses: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One way into a part.  `follows`: None is as the part follows; `group`: of entries in one group, an event takes
    the first that it fits; `loop`: it belongs to a repetition that takes what it can."""

    target: int
    variable: str | None = None
    after: int | None = None
    follows: Follows | None = None
    gaps: tuple[Gap, ...] = ()
    guards: tuple[Guard, ...] = ()
    group: int | None = None
    loop: int | None = None
    keeps_moment: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """A place where a part is complete, and what must not come from there to what follows."""

    place: int
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    entries: tuple[Entry, ...]
    exits: tuple[Exit, ...]
    optional: bool = False
    waits: tuple[Gap, ...] = ()  # absences in front of it, if nothing else is
    again: tuple[str, ...] = ()  # the variables of a group that begins again when it is complete


@dataclass
class _Draft:
    """A place under construction."""

    ways: list[Way] = field(default_factory=list)
    loops: list[int | None] = field(default_factory=list)  # of each way
    bars: dict[Bar, set[int]] = field(default_factory=dict)  # by what they are, their ways

    def bar(self, kind: Bar, ways: set[int]) -> None:
        self.bars.setdefault(kind, set()).update(ways)


def build_ways(clause: SequenceClause) -> Flow:
    return _Builder(clause).build()


def is_looped(repeats: Repeats) -> bool:
    """May there be several?"""
    return repeats.most is None or repeats.most > 1


class _Builder:
    def __init__(self, clause: SequenceClause) -> None:
        self.clause = clause
        self.places: list[_Draft] = [_Draft()]
        self.inside: set[int] = {0}
        self.rounds: list[Round] = []
        self.numbers = 0  # given to scopes, groups and loops
        self.speaks_for_itself = _has_links(clause.items)
        self.begins = self._find_beginning()

    def build(self) -> Flow:
        first = self.clause.items[0]
        if isinstance(first, SequenceTerm) and first.negated and first.lasting is None:
            raise NotSupportedYet(
                "an absence at the start of a SEQ whose steps follow one another in ways of their own",
                span=first.span,
                hint=LATER_HINT,
            )
        whole = self._build_row(self.clause.items)
        if whole.optional:
            raise InvalidQuery(
                "SEQ would match without any event", span=self.clause.head, hint="make one of its steps required"
            )
        if any(entry.gaps for entry in whole.entries):
            raise NotSupportedYet(
                "an absence behind what is optional at the start of SEQ", span=self.clause.head, hint=LATER_HINT
            )
        entries, start = whole.entries, self._follows(first)
        if self.begins != "always":  # the start waits for the first event that fits, like any other place
            start = Follows("followed", 0)
            entries = tuple(replace(entry, follows=start) for entry in entries)
        self._connect((Exit(0),), entries, start)
        accepting = self._finish(whole.exits)
        places = [
            self._close(draft, number in accepting, number in self.inside) for number, draft in enumerate(self.places)
        ]
        return Flow(_number_scopes(places), self.begins, tuple(self.rounds))

    def _find_beginning(self) -> Literal["always", "again", "once", "first"]:
        first = self.clause.items[0]
        if isinstance(first, TermGroup) and first.every and self.clause.once is None:
            return "again"
        absent = [term for term in _list_first(first) if term.negated]
        if any(term.lasting is None for term in absent):
            return "first"  # nothing of it may come from the start on
        return "once" if absent or self.clause.once is not None else "always"

    def _finish(self, exits: tuple[Exit, ...]) -> set[int]:
        """The places that are matches; what must not come at the end is waited for as long as WITHIN lasts."""
        accepting = {leaving.place for leaving in exits if not leaving.gaps}
        for leaving in exits:
            if not leaving.gaps:
                continue
            self._check_last(leaving.gaps)
            target = self._add_place()
            self._connect((leaving,), (Entry(target, after=AT_DEADLINE),), self._new_scope("followed"))
            accepting.add(target)
        return accepting

    def _check_last(self, gaps: tuple[Gap, ...]) -> None:
        """Absences that may stand at the end."""
        terms = {term.variable.text: term for term in walk_terms(self.clause.items)}
        for gap in gaps:
            term = terms[gap.variable]
            is_last = term is self.clause.items[-1]
            if gap.at_once:
                told = "NOT NEXT at the end of SEQ" if is_last else "NOT NEXT before steps that may be left out"
                hint = "put a term behind it" if is_last else "make one of the steps behind it required"
                raise NotSupportedYet(told, span=term.span, hint=hint)
            if self.clause.within is None and is_last:
                raise InvalidWithin(
                    "an absence at the end of SEQ needs WITHIN or FOR: how long must nothing come?",
                    span=term.span,
                    hint="add for instance FOR INTERVAL '2' SECOND behind it",
                )
            if self.clause.within is None:
                raise InvalidWithin(
                    "an absence before steps that may be left out needs WITHIN: how long must nothing come?",
                    span=term.span,
                    hint="add for instance WITHIN INTERVAL '10' SECOND behind SEQ(...)",
                )

    def _close(self, draft: _Draft, accepts: bool, inside: bool) -> Place:
        ways = [
            replace(way, yields=tuple(dict.fromkeys((*way.yields, *self._greedy_before(draft, number)))))
            for number, way in enumerate(draft.ways)
        ]
        bars = [replace(kind, ways=tuple(sorted(closed))) for kind, closed in draft.bars.items()]
        return Place(tuple(ways), tuple(bars), accepts, inside and self.begins == "again")

    def _greedy_before(self, draft: _Draft, number: int) -> list[int]:
        """Ways of repetitions that take what they can; an inner one is drawn before an outer one."""
        own = draft.loops[number]
        return [other for other in range(number) if draft.loops[other] is not None and draft.loops[other] != own]

    # --- items --------------------------------------------------------------------------------------------
    def _build_row(self, items: SequenceItems) -> Part:
        """One item after another."""
        whole = Part((), (), optional=True)
        for item in items:
            whole = self._append(whole, self._build_item(item), self._follows(item))
        return whole

    def _append(self, before: Part, part: Part, follows: Follows) -> Part:
        if part.waits:
            exits = tuple(replace(leaving, gaps=(*leaving.gaps, *part.waits)) for leaving in before.exits)
            return replace(before, exits=exits, waits=(*before.waits, *part.waits) if before.optional else before.waits)
        entries = tuple(replace(entry, follows=entry.follows or follows) for entry in part.entries)
        self._connect(before.exits, entries, follows)
        if part.again:
            self._draw_restarts(before, part)
        first = before.entries
        if before.optional:
            inner = tuple(replace(entry, gaps=(*before.waits, *entry.gaps)) for entry in entries)
            begins_whole = not before.entries
            first += part.entries if begins_whole and not before.waits else inner
        exits = (*part.exits, *(before.exits if part.optional else ()))
        return Part(first, exits, before.optional and part.optional, before.waits if part.optional else ())

    def _build_item(self, item: SequenceTerm | TermGroup) -> Part:
        if isinstance(item, SequenceTerm):
            if item.negated and item.lasting is None:
                return Part((), (), optional=True, waits=(Gap(item.variable.text, item.at_once),))
            if item.negated:
                return self._build_wait(item)
            return self._repeat(item, lambda: self._build_step(item))
        built = {"one_of": self._build_choice, "all_of": self._build_any_order, "in_turn": self._build_turn}[item.kind]
        if item.every and item is not self.clause.items[0]:
            return self._restart(item, built(item))
        if item.every and item.repeats != Repeats():
            raise NotSupportedYet("EVERY of a repeated group", span=item.span, hint="leave out how often")
        if item.every and self.begins == "again":
            return self._begin_again(item, built)
        if is_looped(item.repeats):
            self._check_loop(item)
            self.rounds.append(Round(tuple(term.variable.text for term in walk_terms(item.terms))))
        return self._repeat(item, lambda: built(item))

    def _build_step(self, term: SequenceTerm) -> Part:
        target = self._add_place()
        return Part((Entry(target, term.variable.text),), (Exit(target),))

    def _build_wait(self, term: SequenceTerm) -> Part:
        """~c FOR d: time takes it."""
        target = self._add_place()
        guard = Guard(term.variable.text, timed=True)
        entry = Entry(target, after=_read_lasting(term), guards=(guard,), repeats=term.every)
        return Part((entry,), (Exit(target),))

    def _build_choice(self, group: TermGroup) -> Part:
        number = self._next_number()
        parts = [self._build_item(term) for term in group.terms]
        entries = tuple(replace(entry, group=number) for part in parts for entry in part.entries)
        exits = tuple(leaving for part in parts for leaving in part.exits)
        return Part(entries, exits, any(part.optional for part in parts))

    def _build_turn(self, group: TermGroup) -> Part:
        return self._build_row(group.terms)

    def _build_any_order(self, group: TermGroup) -> Part:
        """A place for each set of members that are there; absences without FOR hold until all are."""
        terms = [term for term in group.terms if isinstance(term, SequenceTerm)]
        for term in terms:
            if term.repeats != Repeats() or term.every or term.link is not None:
                raise NotSupportedYet(
                    "this in a group with &", span=term.span, hint="put it before or behind the group"
                )
        members = [term for term in terms if not term.negated or term.lasting is not None]
        absent = [Guard(term.variable.text, "group") for term in terms if term.negated and term.lasting is None]
        if not members:
            raise InvalidQuery("nothing in this group can happen", span=group.span, hint="add a term without ~")
        is_again = self.begins == "again" and group is self.clause.items[0]
        if absent and is_again:
            self._check_spoilt(group, members)
        lasting = {_read_lasting(term) if term.negated else None for term in members}
        if len(lasting) == 1 and None not in lasting:
            return self._build_waits(members, absent)
        number = self._next_number()
        everything = frozenset(range(len(members)))
        subsets = [frozenset(chosen) for size in range(len(members)) for chosen in combinations(everything, size + 1)]
        targets = {chosen: self._add_place() for chosen in subsets}
        # the same once something came that must not: the attempt is over when all members are there
        spoilt = {chosen: self._add_place() for chosen in subsets} if absent and is_again else {}

        def list_entries(there: frozenset[int]) -> tuple[Entry, ...]:
            waiting = [
                Guard(members[each].variable.text, "group", timed=True)
                for each in sorted(everything - there)
                if members[each].negated
            ]
            return tuple(
                Entry(
                    targets[there | {each}],
                    None if members[each].negated else members[each].variable.text,
                    _read_lasting(members[each]) if members[each].negated else None,
                    guards=(*waiting, *absent),
                    group=number,
                    keeps_moment=there | {each} != everything,
                )
                for each in sorted(everything - there)
            )

        def list_spoilt(there: frozenset[int]) -> tuple[Entry, ...]:
            """Ways that are left when an absence has closed the others."""
            missing = sorted(everything - there) if spoilt else []
            return tuple(Entry(spoilt[there | {each}], members[each].variable.text, group=number) for each in missing)

        follows = Follows(BY_STRATEGY[self.clause.strategy], self._scope())
        for there, place in targets.items():
            if there != everything:
                self._connect((Exit(place),), (*list_entries(there), *list_spoilt(there)), follows)
        for there, place in spoilt.items():
            if there != everything:
                self._connect((Exit(place),), list_spoilt(there), follows)
        return Part((*list_entries(frozenset()), *list_spoilt(frozenset())), (Exit(targets[everything]),))

    def _build_waits(self, members: list[SequenceTerm], absent: list[Guard]) -> Part:
        """~b FOR d & ~c FOR d: neither of them for that time."""
        target = self._add_place()
        waiting = [Guard(member.variable.text, "group", timed=True) for member in members]
        entry = Entry(target, after=_read_lasting(members[0]), guards=(*waiting, *absent), group=self._next_number())
        return Part((entry,), (Exit(target),))

    # --- repetition ---------------------------------------------------------------------------------------
    def _repeat(self, item: SequenceTerm | TermGroup, make: Callable[[], Part]) -> Part:
        repeats = item.repeats
        if repeats == Repeats():
            return make()
        loop = self._next_number() if repeats.greedy else None
        inner = self._follows_inside(repeats)
        stop = None if repeats.until is None else Guard(repeats.until.variable.text, before=True)
        until = () if stop is None else (stop,)
        parts = [make() for _ in range(repeats.most or max(repeats.least, 1))]
        for before, after in pairwise(parts):
            self._loop(before, after, inner, until, loop)
        if repeats.most is None:
            self._loop(parts[-1], parts[-1], inner, until, loop)
        enough = parts[max(repeats.least, 1) - 1 :]
        exits = tuple(leaving for part in enough for leaving in part.exits)
        entries = parts[0].entries
        if stop is not None:
            refused = replace(stop, before=False, refuses=True)
            entries = tuple(replace(entry, guards=(*entry.guards, refused)) for entry in entries)
        optional = repeats.least == 0 or parts[0].optional
        if optional and loop is not None:
            entries = tuple(replace(entry, loop=loop) for entry in entries)
        return Part(entries, exits, optional)

    def _loop(self, before: Part, after: Part, inner: Follows, until: tuple[Guard, ...], loop: int | None) -> None:
        entries = [replace(entry, follows=entry.follows or inner) for entry in after.entries]
        guarded = tuple(
            replace(entry, guards=(*entry.guards, *until), loop=loop if loop is not None else entry.loop)
            for entry in entries
        )
        self._connect(before.exits, guarded, inner)

    def _check_loop(self, group: TermGroup) -> None:
        for term in walk_terms(group.terms):
            if term.lasting is not None or (term.negated and group.kind == "all_of"):
                raise NotSupportedYet(
                    "an absence with FOR in a group that is repeated", span=term.span, hint="put it behind the group"
                )
        if group.kind == "all_of":
            raise NotSupportedYet("a repeated group with &", span=group.span, hint="write its orders with |")
        if self._build_row_is_optional(group):
            raise InvalidQuery(
                "a repeated group may be passed by without any event",
                span=group.span,
                hint="make one of its steps required",
            )

    def _build_row_is_optional(self, group: TermGroup) -> bool:
        def can_be_empty(item: SequenceTerm | TermGroup) -> bool:
            if item.repeats.least == 0 or (isinstance(item, SequenceTerm) and item.negated):
                return True
            if isinstance(item, SequenceTerm):
                return False
            empty = [can_be_empty(term) for term in item.terms]
            return any(empty) if item.kind == "one_of" else all(empty)

        return all(map(can_be_empty, group.terms)) if group.kind != "one_of" else any(map(can_be_empty, group.terms))

    # --- EVERY --------------------------------------------------------------------------------------------
    def _begin_again(self, group: TermGroup, built: Callable[[TermGroup], Part]) -> Part:
        """At the start: the next attempt begins when the one before is over."""
        before = len(self.places)
        part = self._repeat_wait(group, built(group))
        exits = {leaving.place for leaving in part.exits}
        self.inside |= {place for place in range(before, len(self.places)) if place not in exits}
        if any(entry.after is not None for entry in part.entries):  # time is counted from the moment of completion
            variables = tuple(term.variable.text for term in walk_terms(group.terms))
            for draft in self.places[before:]:
                draft.ways = [
                    replace(way, restart=0, variables=variables)
                    if way.after is not None and way.target in exits
                    else way
                    for way in draft.ways
                ]
        return part

    def _restart(self, group: TermGroup, part: Part) -> Part:
        """Behind other items: what completes the group lets a copy begin it again; `_append` knows where."""
        complete = {leaving.place for leaving in part.exits}
        if group.repeats != Repeats() or part.optional or any(self.places[place].ways for place in complete):
            raise NotSupportedYet(
                "EVERY of a group with a repetition at its end, behind other steps",
                span=group.span,
                hint="write EVERY at one of its steps",
            )
        part = self._repeat_wait(group, part)
        return replace(part, again=tuple(term.variable.text for term in walk_terms(group.terms)))

    def _repeat_wait(self, group: TermGroup, part: Part) -> Part:
        """A wait that completes the group by itself is a timer that begins again; two of them could not be told apart
        when they do, and of several, one after another, none would know when the input is at its end."""
        complete = {leaving.place for leaving in part.exits}
        waits = [entry for entry in part.entries if entry.after is not None]
        timers = [entry for entry in waits if entry.target in complete]
        coming, by_time = [entry.target for entry in waits if entry.target not in complete], set[int]()
        while coming:
            place = coming.pop()
            by_time.add(place)
            coming += [way.target for way in self.places[place].ways if way.after is not None]
        if len(timers) > 1 or by_time & complete:
            raise NotSupportedYet(
                "EVERY of a group with several absences that time alone completes",
                span=group.span,
                hint="give them one duration and write &, or write EVERY at one of them",
            )
        entries = tuple(replace(entry, repeats=True) if entry in timers else entry for entry in part.entries)
        return replace(part, entries=entries)

    def _check_spoilt(self, group: TermGroup, members: list[SequenceTerm]) -> None:
        if any(member.negated for member in members) or self.clause.strategy == "skip_till_any":
            raise NotSupportedYet(
                "EVERY of this group with an absence without FOR, at the start of SEQ",
                span=group.span,
                hint="say for how long it is absent, or leave out the absences with FOR and the strategy",
            )

    def _draw_restarts(self, before: Part, part: Part) -> None:
        complete = {leaving.place for leaving in part.exits}
        begins = {leaving.place for leaving in before.exits}
        if len(begins) != 1 or before.optional or len(self.places[min(begins)].ways) != len(part.entries):
            raise NotSupportedYet(
                "EVERY of a group behind steps that may be repeated or left out",
                span=self.clause.head,
                hint="write EVERY at one of its steps",
            )
        for draft in self.places:
            draft.ways = [
                replace(way, restart=min(begins), variables=part.again)
                if way.target in complete and not way.repeats
                else way
                for way in draft.ways
            ]

    # --- ways ---------------------------------------------------------------------------------------------
    def _connect(self, exits: tuple[Exit, ...], entries: tuple[Entry, ...], follows: Follows) -> None:
        for leaving in exits:
            self._connect_one(self.places[leaving.place], leaving, entries, follows)

    def _connect_one(self, draft: _Draft, leaving: Exit, entries: tuple[Entry, ...], follows: Follows) -> None:
        at_start = leaving.place == 0
        first = len(draft.ways)
        timers = [entry.group for entry in entries if entry.after is not None]
        for number, entry in enumerate(entries, first):
            chosen = entry.follows or follows
            before = [] if entry.group is None else [
                other for other in range(first, number)
                if entries[other - first].group == entry.group and entries[other - first].variable is not None
            ]  # fmt: skip
            is_choice = entry.variable is not None and chosen.contiguity != "any"
            draft.ways.append(
                Way(
                    entry.target,
                    entry.variable,
                    entry.after,
                    chosen.contiguity,
                    chosen.scope,
                    tuple(before) if is_choice else (),
                    entry.keeps_moment,
                    entry.repeats,
                )
            )
            draft.loops.append(entry.loop)
            for gap in (*leaving.gaps, *entry.gaps):
                draft.bar(Bar(gap.variable, (), at_once=gap.at_once, before=gap.at_once), {number})
            for guard in entry.guards:
                closed = {number}
                if guard.closes == "group":
                    closed = {at for at, each in enumerate(entries, first) if guard in each.guards}
                is_alone = guard.closes == "group" or timers.count(entry.group) == 1
                begins = at_start and is_alone and self.begins in ("once", "again")
                restarts = guard.timed and (entry.repeats or begins)
                kind = Bar(guard.variable, (), before=guard.before, refuses=guard.refuses, restarts=restarts)
                draft.bar(kind, closed)

    def _add_place(self) -> int:
        if len(self.places) >= MOST_PLACES:
            raise NotSupportedYet(
                f"SEQ with more than {MOST_PLACES:,} places", span=self.clause.head, hint="repeat fewer events"
            )
        self.places.append(_Draft())
        return len(self.places) - 1

    def _next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _scope(self) -> int:
        return self._next_number() if self.speaks_for_itself else 0

    def _new_scope(self, contiguity: Contiguity) -> Follows:
        return Follows(contiguity, self._next_number())

    def _follows(self, item: SequenceTerm | TermGroup) -> Follows:
        contiguity: Contiguity = item.link or BY_STRATEGY[self.clause.strategy]
        if item.every and isinstance(item, SequenceTerm) and not item.negated:
            contiguity = "any"
        return Follows(contiguity, self._scope())

    def _follows_inside(self, repeats: Repeats) -> Follows:
        """How elements follow one another: as is said, or by the strategy; under words that say it for each step, each
        takes the first event that fits."""
        inner: Link = repeats.inner or BY_STRATEGY[self.clause.strategy]
        return Follows(inner, self._scope())


def _list_first(item: SequenceTerm | TermGroup) -> list[SequenceTerm]:
    """The terms with which it can begin."""
    if isinstance(item, SequenceTerm):
        return [item]
    begins = item.terms[:1] if item.kind == "in_turn" else item.terms
    return [term for each in begins for term in _list_first(each)]


def _number_scopes(places: list[Place]) -> tuple[Place, ...]:
    """The same places, with the scopes of their ways numbered from 0 on."""
    numbers: dict[int, int] = {}
    for place in places:
        for way in place.ways:
            numbers.setdefault(way.scope, len(numbers))
    return tuple(
        replace(place, ways=tuple(replace(way, scope=numbers[way.scope]) for way in place.ways)) for place in places
    )


def _read_lasting(term: SequenceTerm) -> int:
    found = read_within(term.lasting, "FOR")
    assert found is not None, "a timed absence has a time"
    return found


def _has_links(items: SequenceItems) -> bool:
    """Does some step say how it follows the one before?"""
    return any(
        item.link is not None
        or item.repeats.inner is not None
        or (isinstance(item, SequenceTerm) and item.at_once)
        or (isinstance(item, TermGroup) and _has_links(item.terms))
        for item in items
    )
