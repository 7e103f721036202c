"""Join the tokens of `b[i-1]` into one name, before the text is parsed.

    SELECT b [ 1 ] . x   =>   SELECT "b[1]" . x          one token, of the text from b to ]

Brackets behind a name mean an array in SQL, and `b[]` or `b[..i-1]` mean nothing there: as names they pass through
sqlglot's parser wherever a column may stand.  `elements.py` takes them apart again.  The joined token covers the text
it came from: places stay right.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Token, TokenType

BEFORE_STREAMS = {"(", ",", "|", "&", "~"}
NO_NAMES = BEFORE_STREAMS | {")", "+", "[", "]"}


def join_elements(tokens: list[Token]) -> list[Token]:
    """The tokens, in which the qualifiers of elements are one token each."""
    names, inside = find_variables(tokens)
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        end = find_end(tokens, index) if tokens[index].text.lower() in names and index not in inside else None
        if end is None or (joined and joined[-1].token_type == TokenType.DOT):
            joined.append(tokens[index])
            index += 1
            continue
        first, last = tokens[index], tokens[end]
        index_text = "".join(token.text.lower() for token in tokens[index + 1 : end + 1])
        joined.append(
            Token(TokenType.IDENTIFIER, first.text + index_text, first.line, first.col, first.start, last.end)
        )
        index = end + 1
    return joined


def find_variables(tokens: list[Token]) -> tuple[set[str], set[int]]:
    """Names of the variables of all SEQ, in lower case, and the tokens between the parentheses of SEQ."""
    names: set[str] = set()
    inside: set[int] = set()
    for start in range(len(tokens) - 2):
        words = [token.text.upper() for token in tokens[start : start + 3]]
        if words == ["PATTERN", "SEQ", "("] and start not in inside:
            terms = list(list_terms(tokens, start + 3))
            inside.update(terms)
            names.update(
                tokens[place].text.lower()
                for place in terms
                if tokens[place].text not in NO_NAMES and tokens[place - 1].text not in BEFORE_STREAMS
            )
    return names, inside


def list_terms(tokens: list[Token], start: int) -> Iterator[int]:
    """The places of the tokens up to the parenthesis that closes SEQ."""
    depth = 1
    for place in range(start, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[place].token_type, 0)
        if not depth:
            return
        yield place


def find_end(tokens: list[Token], start: int) -> int | None:
    """Where the bracket behind a variable closes, if it marks an element: not if it reads an array of that name."""
    if start + 2 >= len(tokens) or tokens[start + 1].token_type != TokenType.L_BRACKET:
        return None
    for place in range(start + 2, len(tokens)):
        kind = tokens[place].token_type
        if kind == TokenType.L_BRACKET:
            return None
        if kind == TokenType.R_BRACKET:
            whole = place == start + 2 or tokens[start + 2].token_type == TokenType.DOT
            has_column = place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.DOT
            return place if whole or has_column else None
    return None
