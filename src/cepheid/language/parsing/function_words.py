"""Words of SQL that are functions where a parenthesis or a field follows: GROUP BY window(ts, '1 minute'), window.end.

sqlglot takes WINDOW for the clause of that name, and knows no function SESSION.  A clause has a name behind the word.
"""

from __future__ import annotations

from sqlglot import Token, TokenType

_MAY_FOLLOW = {
    TokenType.WINDOW: (TokenType.L_PAREN, TokenType.DOT),
    TokenType.SESSION: (TokenType.L_PAREN,),
}


def free_function_words(tokens: list[Token]) -> list[Token]:
    """The tokens, with such words as plain names."""
    following = [*(token.token_type for token in tokens[1:]), None][: len(tokens)]
    return [
        _as_name(token) if after in _MAY_FOLLOW.get(token.token_type, ()) else token
        for token, after in zip(tokens, following, strict=True)
    ]


def _as_name(token: Token) -> Token:
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)
