"""The rules, in the order in which they are tried.  To add one: a file in rules/, a line here.

Which of them a host uses, it says itself (hosts.py).
"""

from __future__ import annotations

from cepheid.rewrite.rule import Rule
from cepheid.rewrite.rules.drop_irrelevant_events import DROP_IRRELEVANT_EVENTS
from cepheid.rewrite.rules.leave_windows_to_host import LEAVE_WINDOWS_TO_HOST
from cepheid.rewrite.rules.merge_adjacent_filters import MERGE_ADJACENT_FILTERS
from cepheid.rewrite.rules.move_conditions_to_host import MOVE_CONDITIONS_TO_HOST
from cepheid.rewrite.rules.partition_windows_by_group import PARTITION_WINDOWS_BY_GROUP
from cepheid.rewrite.rules.prune_columns import PRUNE_COLUMNS
from cepheid.rewrite.rules.push_filter_below_project import PUSH_FILTER_BELOW_PROJECT
from cepheid.rewrite.rules.push_filter_below_row_pattern import PUSH_FILTER_BELOW_ROW_PATTERN

ALL_RULES: tuple[Rule, ...] = (
    PUSH_FILTER_BELOW_PROJECT,
    PUSH_FILTER_BELOW_ROW_PATTERN,
    DROP_IRRELEVANT_EVENTS,
    MERGE_ADJACENT_FILTERS,
    MOVE_CONDITIONS_TO_HOST,
    PRUNE_COLUMNS,
    LEAVE_WINDOWS_TO_HOST,
    PARTITION_WINDOWS_BY_GROUP,
)

# everywhere
GENERAL_RULES = (
    PUSH_FILTER_BELOW_PROJECT,
    PUSH_FILTER_BELOW_ROW_PATTERN,
    DROP_IRRELEVANT_EVENTS,
    MERGE_ADJACENT_FILTERS,
    PRUNE_COLUMNS,
)

# where events are carried from the host to other processes, of which there are many
DISTRIBUTED_RULES = (*GENERAL_RULES, MOVE_CONDITIONS_TO_HOST, PARTITION_WINDOWS_BY_GROUP)

# and where, besides, the host has whole tables
WHOLE_TABLE_RULES = ALL_RULES


def in_order(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """A choice of rules, in the order above."""
    return tuple(rule for rule in ALL_RULES if rule in rules)
