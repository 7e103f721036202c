"""The kinds of vertices.  To add one: a file here, its class in this list; the completeness test says what else."""

from cepheid.graph.node import PlanNode
from cepheid.graph.operators.filter import Filter
from cepheid.graph.operators.project import Project
from cepheid.graph.operators.relation import Relation
from cepheid.graph.operators.row_pattern import RowPattern
from cepheid.graph.operators.sequence import Sequence
from cepheid.graph.operators.sink import Sink
from cepheid.graph.operators.source import Source

NODE_TYPES: tuple[type[PlanNode], ...] = (Source, Filter, Project, Relation, RowPattern, Sequence, Sink)

__all__ = ["NODE_TYPES", "Filter", "Project", "Relation", "RowPattern", "Sequence", "Sink", "Source"]
