"""The kinds of vertices.  To add one: a file here, its class in this list; the completeness test says what else."""

from cepheid.graph.node import PlanNode
from cepheid.graph.operators.changes import Changes
from cepheid.graph.operators.filter import Filter
from cepheid.graph.operators.host_window import HostWindow
from cepheid.graph.operators.over_rows import OverRows
from cepheid.graph.operators.project import Project
from cepheid.graph.operators.relation import Relation
from cepheid.graph.operators.row_pattern import RowPattern
from cepheid.graph.operators.sequence import Sequence
from cepheid.graph.operators.sink import Sink
from cepheid.graph.operators.source import Source
from cepheid.graph.operators.table_join import TableJoin
from cepheid.graph.operators.union import Union
from cepheid.graph.operators.window_aggregate import WindowAggregate
from cepheid.graph.operators.window_join import WindowJoin

NODE_TYPES: tuple[type[PlanNode], ...] = (
    Source,
    Filter,
    Project,
    Relation,
    RowPattern,
    Sequence,
    WindowAggregate,
    WindowJoin,
    OverRows,
    TableJoin,
    Union,
    HostWindow,
    Changes,
    Sink,
)

__all__ = [
    "NODE_TYPES",
    "Changes",
    "Filter",
    "HostWindow",
    "OverRows",
    "Project",
    "Relation",
    "RowPattern",
    "Sequence",
    "Sink",
    "Source",
    "TableJoin",
    "Union",
    "WindowAggregate",
    "WindowJoin",
]
