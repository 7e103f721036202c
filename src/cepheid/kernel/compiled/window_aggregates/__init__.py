"""What groups in windows hold, one record for each slot, and the answers when a step_list asks for them.

    StepList ─▶ each bank, one pass ─▶ columns of answers

`banks` says which bank computes what.
"""

from cepheid.kernel.compiled.window_aggregates.banks import Banks, make_banks
from cepheid.kernel.compiled.window_aggregates.lists import MemberBank

__all__ = ["Banks", "MemberBank", "make_banks"]
