"""Read sqlglot's tokens in our words, and tell every mistake with its place.

sqlglot's parser is extended by inheritance; this class is the seam.  The parsers of our own clauses see only
the methods without underscore, and know nothing of how sqlglot moves over tokens.

    reader.take_words("ORDER", "BY")            moves on if these words come next
    reader.expect_words("AS", hint=...)         moves on or refuses
    reader.read_name("a measure", hint=...)     a Name with its span
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import zip_longest
from typing import Any, NoReturn, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from cepheid.errors import Span, SyntaxProblem
from cepheid.language.parsing.nesting import too_deep
from cepheid.language.parsing.syntax import Name, OrderTerm

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)

WORD = re.compile(r"[^\W\d]\w*\Z")
NO_NAMES = frozenset({TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.HEX_STRING, TokenType.SELECT})
LONGEST_QUOTE = 40
KEYWORDS = ("FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WITHIN", "OUTPUT", "SELECT", "INTERVAL", "PARTITION")
OTHER_WORDS = {"TOP": "write LIMIT at the end of the query", "ISNULL": "write IS NULL", "NOTNULL": "write IS NOT NULL"}
COMPARED_MARKS = {"&&": "write AND", "&": "write AND", "=>": "write >= for at least", "=<": "write <= for at most"}
OTHER_MARKS = {
    **COMPARED_MARKS, "!": "write NOT", "#": "a comment begins with --, or stands between /* and */",
    "//": "a comment begins with --, or stands between /* and */",
    "?": "a query has no parameters: write the value itself", "$": "a query has no parameters: write the value itself",
    "`": 'names are quoted as "name" in this dialect',
    ";": "one query ends with one semicolon, or with none",
}  # fmt: skip
MOVES_PER_TOKEN = 100
SEMANTICS = ("RUNNING", "FINAL")


class PlacedParseError(ParseError):
    """A mistake found by sqlglot; it may still turn out harmless, as sqlglot tries and retreats."""

    def __init__(self, message: str, span: Span, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint


def place_problem(error: ParseError, otherwise: Span) -> SyntaxProblem:
    """sqlglot's error as ours; `otherwise` is told when it has no place."""
    if isinstance(error, PlacedParseError):
        return SyntaxProblem(error.message, span=error.span, hint=error.hint)
    message = phrase_problem(str(error), "")
    return SyntaxProblem(message, span=otherwise, hint=suggest_repair(message))


class TokenReader(Parser):
    """A parser of sqlglot with a vocabulary for our own clauses; the parser of a dialect stands beside it."""

    allows_semantics = False  # RUNNING and FINAL mean something here
    moves_back = 0
    furthest: PlacedParseError | None = None  # the mistake deepest in the text explains best

    def _retreat(self, index: int) -> None:
        """sqlglot tries what it does not know in several ways; under one another they are more than any text needs."""
        self.moves_back += self._index - index
        if self.moves_back > MOVES_PER_TOKEN * (len(self._tokens) + 100):
            raise too_deep(self.place(self._curr))
        super()._retreat(index)

    # --- places ------------------------------------------------------------------------------------------
    @property
    def position(self) -> int:
        """Where the next token starts, or the end of the last one when there is none."""
        return self.place(self._curr).start

    def place(self, token: Token) -> Span:
        if token:
            return Span(token.start, token.end + 1)
        end = self._prev.end + 1 if self._prev else len(self.sql)
        return Span(end, end)

    def span_from(self, start: int) -> Span:
        """From `start` to the end of the last token read."""
        return Span(start, max(start, self._prev.end + 1))

    # --- mistakes ----------------------------------------------------------------------------------------
    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """sqlglot calls this; the error must stay one that sqlglot can catch when it retreats."""
        place = token or self._curr
        told = phrase_problem(message, self.quote(place))
        error = PlacedParseError(told, self.place(place), self.suggest_word() or suggest_repair(told))
        if self.furthest is None or error.span.start > self.furthest.span.start:
            self.furthest = error
        raise error

    def suggest_word(self) -> str | None:
        """Is the word before a keyword with a slip in it, or one of another SQL?"""
        if not self._prev or self._prev.token_type != TokenType.VAR:
            return None
        word = self._prev.text.upper()
        if word in OTHER_WORDS:
            return OTHER_WORDS[word]
        near = get_close_matches(word, KEYWORDS, n=1, cutoff=0.75)
        return f'did you mean {near[0]} instead of "{self._prev.text}"?' if near and near[0] != word else None

    def validate_expression(self, expression: E, args: list[Any] | None = None) -> E:
        """sqlglot makes some calls with fewer arguments than they need, and puts None there."""
        checked = super().validate_expression(expression, args)
        arguments = expression.args.get("expressions")
        if arguments and any(each is None for each in arguments):
            self.raise_error("Required argument is missing")
        return checked

    def quote(self, token: Token) -> str:
        """The token as written, or nothing at the end of the query."""
        written = self.sql[token.start : token.end + 1] if token else ""
        return written if len(written) <= LONGEST_QUOTE else written[: LONGEST_QUOTE - 3] + "..."

    def refuse(self, message: str, *, hint: str, span: Span | None = None) -> NoReturn:
        raise SyntaxProblem(message, span=span or self.place(self._curr), hint=hint)

    def refuse_next(self, expected: str, *, hint: str) -> NoReturn:
        found = self.quote(self._curr)
        where = f'before "{found}"' if found else "at the end of the query"
        self.refuse(f"expected {expected} {where}", hint=COMPARED_MARKS.get(found, hint))

    @contextmanager
    def without_retreat(self) -> Iterator[None]:
        """For clauses of ours: sqlglot has nothing else to try, so its error is the user's."""
        try:
            yield
        except ParseError as error:
            raise place_problem(self.furthest or error, self.place(self._curr)) from error

    # --- words and marks ---------------------------------------------------------------------------------
    @property
    def next_word(self) -> str:
        """The next token in capitals; empty when it is quoted, or when there is none."""
        return "" if self._curr.token_type == TokenType.IDENTIFIER else self.quote(self._curr).upper()

    def at_words(self, *words: str) -> bool:
        return self._match_text_seq(*words, advance=False)

    def take_words(self, *words: str) -> bool:
        return self._match_text_seq(*words)

    def expect_words(self, *words: str, hint: str) -> None:
        if not self.take_words(*words):
            self.refuse_next(" ".join(words), hint=hint)

    def at_mark(self, mark: TokenType) -> bool:
        return bool(self._curr) and self._curr.token_type == mark

    def kind_after(self) -> TokenType | None:
        """The kind of the token behind the next one."""
        return self._next.token_type if self._next else None

    def word_behind(self) -> str:
        """The token behind the next one, in capitals."""
        return self.quote(self._next).upper() if self._next else ""

    def word_after(self, mark: TokenType) -> str:
        """The token behind the next one in capitals, if the next one is of this kind."""
        return self.word_behind() if self.at_mark(mark) else ""

    def take_mark(self, mark: TokenType) -> bool:
        return self._match(mark)

    def expect_mark(self, mark: TokenType, written: str, hint: str) -> None:
        if not self.take_mark(mark):
            self.refuse_next(f'"{written}"', hint=hint)

    def take_text(self, *marks: TokenType) -> str | None:
        """The text of the next token if it is of one of these kinds."""
        return self._prev.text if self._match_set(marks) else None

    def jump_to(self, position: int) -> None:
        """Pass over the tokens that start before `position`."""
        while self._curr and self._curr.start < position:
            self._advance()

    def look_ahead(self, start: int) -> Iterator[tuple[Token, TokenType | None]]:
        """The tokens from `start` tokens further on, each with the kind of the one behind it."""
        tokens = self._tokens[self._index + start :]
        yield from zip_longest(tokens, (token.token_type for token in tokens[1:]))

    # --- parts of clauses --------------------------------------------------------------------------------
    def at_name(self) -> bool:
        token = self._curr
        quoted = token.token_type == TokenType.IDENTIFIER
        return bool(token) and (quoted or (token.token_type not in NO_NAMES and bool(WORD.match(token.text))))

    def read_name(self, what: str, hint: str) -> Name:
        """An identifier; keywords are names too where nothing else can stand."""
        if not self.at_name():
            self.refuse_next(what, hint=hint)
        token = self._curr
        self._advance()
        return Name(token.text, self.place(token), token.token_type == TokenType.IDENTIFIER)

    def read_list(self, read_item: Callable[[], T]) -> tuple[T, ...]:
        items = [read_item()]
        while self.take_mark(TokenType.COMMA):
            items.append(read_item())
        return tuple(items)

    def read_expression(self, what: str, hint: str) -> exp.Expression:
        expression = self._parse_disjunction()
        if not isinstance(expression, exp.Expression):
            self.refuse_next(what, hint=hint)
        return expression

    def read_table_argument(self, hint: str) -> exp.Expression:
        """A table as the argument of a table function: TABLE s, s, or a subquery."""
        self.take_mark(TokenType.TABLE)
        table = self._parse_table() if self.at_mark(TokenType.L_PAREN) else self._parse_table_parts()
        if not isinstance(table, exp.Table | exp.Subquery):
            self.refuse_next("a table", hint=hint)
        return table

    def read_order_by(self) -> tuple[OrderTerm, ...]:
        return self.read_list(self.read_order_term) if self.take_mark(TokenType.ORDER_BY) else ()

    def read_order_term(self) -> OrderTerm:
        start = self.position
        expression = self.read_expression("an expression to order by", hint="write a column, as in ORDER BY ts")
        descending = not self.take_mark(TokenType.ASC) and self.take_mark(TokenType.DESC)
        nulls_first = True if self.take_words("NULLS", "FIRST") else None
        if nulls_first is None and self.take_words("NULLS", "LAST"):
            nulls_first = False
        return OrderTerm(expression, descending, self.span_from(start), nulls_first)

    # --- RUNNING and FINAL -------------------------------------------------------------------------------
    @contextmanager
    def allow_semantics(self) -> Iterator[None]:
        before, self.allows_semantics = self.allows_semantics, True
        try:
            yield
        finally:
            self.allows_semantics = before

    def _parse_unary(self) -> exp.Expr | None:
        if not (self.allows_semantics and self.next_word in SEMANTICS and self.operand_follows()):
            return super()._parse_unary()
        token = self._curr
        self._advance()
        inner = super()._parse_unary()
        operands = [inner.unnest()] if inner else []
        return self.expression(exp.Anonymous(this=token.text.upper(), expressions=operands), token)

    def operand_follows(self) -> bool:
        """Else RUNNING or FINAL is a column of that name, followed by an operator or the end."""
        starts = (TokenType.L_PAREN, TokenType.VAR, TokenType.IDENTIFIER)
        after = self._tokens[self._index + 2] if self._index + 2 < len(self._tokens) else None
        calls = after is not None and after.token_type == TokenType.L_PAREN
        return self._next.token_type in starts or (calls and self._next.token_type in self.FUNC_TOKENS)


def phrase_problem(description: str, found: str) -> str:
    """sqlglot's description in our words; `found` is what stands at the place, nothing at the end."""
    where = f'before "{found}"' if found else "at the end of the query"
    if "Unexpected token" in description:
        return f'unexpected "{found}"' if found else "the query ends too early"
    if description.startswith("Expecting "):
        return f'expected "{description.removeprefix("Expecting ")}" {where}'
    if description.startswith("Required "):
        return f"something is missing {where}"
    if "number of provided arguments" in description:
        return f"there are too many arguments {where}"
    if description.startswith("Expected TYPE"):
        return f"expected a type {where}"
    plain = re.sub(r"( but got|,? ?<).*", "", description, flags=re.DOTALL).rstrip(".").replace("'", '"')
    return f"{plain[:1].lower()}{plain[1:]} {where}"


def suggest_repair(message: str) -> str:
    """The next step for what sqlglot found, which knows only what it does not understand."""
    found = re.search(r'(?:unexpected|before) "(\S+)"', message)
    if found and found[1] in OTHER_MARKS:
        return OTHER_MARKS[found[1]]
    if message.startswith("there are too many arguments"):
        return "leave some of them out: the function takes fewer"
    if message.startswith("expected a type"):
        return "types are BIGINT, DOUBLE, DECIMAL(10, 2), VARCHAR, BOOLEAN, DATE, TIMESTAMP"
    if message.startswith("expected "):
        return "write that there, or finish what stands in front of it"
    if message.endswith(("end of the query", "ends too early")):
        return "finish the last clause; a parenthesis may still be open"
    return 'in front of it, a comma, an operator or a parenthesis may be missing; a name like "order" needs quotes'
