"""The rules, in the order in which they are tried.  To add one: a file in rules/, a line here."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.rules.drop_irrelevant_events import drop_irrelevant_events
from cepheid.rewrite.rules.leave_windows_to_host import leave_windows_to_host
from cepheid.rewrite.rules.merge_adjacent_filters import merge_adjacent_filters
from cepheid.rewrite.rules.move_conditions_to_host import move_conditions_to_host
from cepheid.rewrite.rules.partition_windows_by_group import partition_windows_by_group
from cepheid.rewrite.rules.prune_columns import prune_columns
from cepheid.rewrite.rules.push_filter_below_project import push_filter_below_project
from cepheid.rewrite.rules.push_filter_below_row_pattern import push_filter_below_row_pattern

Rule = Callable[[QueryGraph], QueryGraph | None]

RULES: tuple[Rule, ...] = (
    push_filter_below_project,
    push_filter_below_row_pattern,
    drop_irrelevant_events,
    merge_adjacent_filters,
    prune_columns,
)

# where events are carried from the host to other processes, of which there are many
_CARRYING: tuple[Rule, ...] = (*RULES[:-1], move_conditions_to_host, RULES[-1])
CARRYING_RULES: tuple[Rule, ...] = (*_CARRYING, partition_windows_by_group)

# and where, besides, the host has whole tables
WHOLE_TABLE_RULES: tuple[Rule, ...] = (*_CARRYING, leave_windows_to_host, partition_windows_by_group)
