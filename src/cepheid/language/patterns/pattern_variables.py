"""The variables of a row pattern: those that bind rows, those that are absent, and unions of them.

    PATTERN (a NOT b c)  SUBSET u = (a, c)      rows: A, C     absent: B     union: U

Names are told apart as the standard does: in capitals, unless they are quoted.

An absent variable has no rows in a match, so that nothing can be read of it; only its own condition names the row
under test by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from cepheid.errors import InvalidQuery, Span, UnknownVariable
from cepheid.kernel.pattern import list_absences, list_terms
from cepheid.language.expressions.scope import Variables
from cepheid.language.parsing.places import fold_identifier, span_of
from cepheid.language.parsing.syntax import Name, RowPatternClause, Subset


@dataclass(frozen=True, slots=True)
class PatternVariables(Variables):
    """`tested`: the variable whose condition it is."""

    absent: tuple[str, ...] = ()
    tested: str | None = None

    def resolve(self, written: exp.Expr) -> tuple[str, ...]:
        return self.find(fold_identifier(written), span_of(written))

    def resolve_name(self, name: Name) -> tuple[str, ...]:
        return self.find(name.folded, name.span)

    def find(self, name: str, span: Span | None) -> tuple[str, ...]:
        if name in self.absent and name == self.tested:
            return (name,)
        if name in self.absent:
            raise InvalidQuery(
                f'"{name}" has no rows to read: the pattern says NOT {name}',
                span=span,
                hint=f"only its own condition can read it: DEFINE {name} AS {name}.x > 0",
            )
        found = self.members.get(name)
        if found is None:
            raise UnknownVariable(name, self.names(), span=span)
        return found

    def seen_from(self, variable: str) -> PatternVariables:
        """What names mean in the condition of a variable."""
        return replace(self, tested=variable)

    @property
    def tests_absence(self) -> bool:
        return self.tested in self.absent

    def list_defined(self) -> list[str]:
        """What can be defined."""
        return [*(name for name, members in self.members.items() if members == (name,)), *self.absent]


def collect_variables(clause: RowPatternClause) -> PatternVariables:
    rows = dict.fromkeys(term.variable for term in list_terms(clause.pattern))
    for absence in list_absences(clause.pattern):
        if absence.variable in rows:
            raise InvalidQuery(
                f'"{absence.variable}" stands in the pattern both with NOT and without',
                span=absence.span,
                hint="give one of the two another name, with the same condition",
            )
    absent = dict.fromkeys(absence.variable for absence in list_absences(clause.pattern))
    variables = PatternVariables({name: (name,) for name in rows}, tuple(absent))
    for subset in clause.subsets:
        variables = _add_union(variables, subset)
    return variables


def _add_union(variables: PatternVariables, subset: Subset) -> PatternVariables:
    for member in subset.members:
        within = variables.resolve_name(member)
        if within != (member.folded,):
            raise InvalidQuery(
                f'SUBSET "{subset.name.text}" names a SUBSET, "{member.text}"',
                span=member.span,
                hint=f"name the variables themselves: {', '.join(within)}",
            )
    name = subset.name.folded
    if name in variables.members or name in variables.absent:
        other = "a variable" if variables.members.get(name, (name,)) == (name,) else "another one"
        hint = "give it a name of its own, as in SUBSET u = (a, b)"
        raise InvalidQuery(f'SUBSET "{subset.name.text}" has the name of {other}', span=subset.name.span, hint=hint)
    members = tuple(member.folded for member in subset.members)
    return replace(variables, members={**variables.members, name: members})
