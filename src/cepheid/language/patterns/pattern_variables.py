"""The variables of a row pattern: those that bind rows, those that are absent, and unions of them.

    PATTERN (a NOT b c)  SUBSET u = (a, c)      rows: a, c     absent: b     union: u

An absent variable has no rows in a match, so that nothing can be read of it; only its own condition names the row
under test by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from cepheid.errors import InvalidQuery, Span, UnknownVariable
from cepheid.kernel.pattern import (
    Absence,
    Alternation,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Term,
    list_absences,
    list_terms,
    walk_pattern,
)
from cepheid.language.expressions.scope import Variables
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import Name, RowPatternClause, Subset


@dataclass(frozen=True, slots=True)
class PatternVariables(Variables):
    """`absent`: by name in lower case, as spelt in the pattern; `tested`: the variable whose condition it is."""

    absent: tuple[tuple[str, str], ...] = ()
    tested: str | None = None

    def resolve(self, written: exp.Expr) -> tuple[str, ...]:
        return self.find(written.name, span_of(written))

    def resolve_name(self, name: Name) -> tuple[str, ...]:
        return self.find(name.text, name.span)

    def find(self, name: str, span: Span | None) -> tuple[str, ...]:
        absent = dict(self.absent).get(name.lower())
        if absent is not None and absent == self.tested:
            return (absent,)
        if absent is not None:
            raise InvalidQuery(
                f'"{name}" has no rows to read: the pattern says NOT {absent}',
                span=span,
                hint=f"only its own condition can read it: DEFINE {absent} AS {absent}.x > 0",
            )
        found = self.members.get(name.lower())
        if found is None:
            raise UnknownVariable(name, self.names(), span=span)
        return found

    def seen_from(self, variable: str) -> PatternVariables:
        """What names mean in the condition of a variable."""
        return replace(self, tested=variable)

    @property
    def tests_absence(self) -> bool:
        return self.tested in dict(self.absent).values()

    def spellings(self) -> dict[str, str]:
        """What can be defined, as spelt in the pattern, by name in lower case."""
        rows = {name: members[0] for name, members in self.members.items() if members[0].lower() == name}
        return rows | dict(self.absent)


def collect_variables(clause: RowPatternClause) -> PatternVariables:
    rows = _first_spellings(term.variable for term in list_terms(clause.pattern))
    absent = _first_spellings(absence.variable for absence in list_absences(clause.pattern))
    for absence in list_absences(clause.pattern):
        if absence.variable.lower() in rows:
            raise InvalidQuery(
                f'"{absence.variable}" stands in the pattern both with NOT and without',
                span=absence.span,
                hint="give one of the two another name, with the same condition",
            )
    members = {name: (variable,) for name, variable in rows.items()}
    variables = PatternVariables(members, tuple(absent.items()))
    for subset in clause.subsets:
        variables = _add_union(variables, subset)
    return variables


def spell_once(pattern: RowPattern) -> RowPattern:
    """The pattern in which every variable is spelt as where it stands first: names ignore case."""
    leaves = [part for part in walk_pattern(pattern) if isinstance(part, Term | Absence)]
    spelt = _first_spellings(leaf.variable for leaf in leaves)

    def spell(part: RowPattern) -> RowPattern:
        match part:
            case Term() | Absence():
                return replace(part, variable=spelt[part.variable.lower()])
            case Concatenation(items=items) | Permutation(items=items):
                return replace(part, items=tuple(map(spell, items)))
            case Alternation(options=options):
                return replace(part, options=tuple(map(spell, options)))
            case Repetition(item=item) | Exclusion(item=item):
                return replace(part, item=spell(item))
        return part

    return spell(pattern)


def _add_union(variables: PatternVariables, subset: Subset) -> PatternVariables:
    members = tuple(variables.resolve_name(member)[0] for member in subset.members)
    name = subset.name.text.lower()
    if name in variables.members or name in dict(variables.absent):
        hint = "give it a name of its own, as in SUBSET u = (a, b)"
        raise InvalidQuery(f'SUBSET "{subset.name.text}" has the name of a variable', span=subset.name.span, hint=hint)
    return replace(variables, members={**variables.members, name: members})


def _first_spellings(names: Iterable[str]) -> dict[str, str]:
    spelt: dict[str, str] = {}
    for name in names:
        spelt.setdefault(name.lower(), name)
    return spelt
