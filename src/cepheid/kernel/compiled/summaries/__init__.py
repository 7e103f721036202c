"""What groups in windows hold, one record for each slot, and the answers when a script asks for them.

    Script ─▶ each bank, one pass ─▶ columns of answers

`banks` says which bank computes what.
"""

from cepheid.kernel.compiled.summaries.banks import Banks, make_banks
from cepheid.kernel.compiled.summaries.lists import MemberBank

__all__ = ["Banks", "MemberBank", "make_banks"]
