"""Records that are text: parsed with a schema, and parted into rows that fit and records that do not.

text ─from_json─▶ rows ─┬─▶ OpenStream.rows
                        └─▶ OpenStream.misfits: source, reason, record, parsed, file, seen

A record fits if Spark parses all its columns, whichever of them a query reads: what is set apart does not depend on
queries.  Whoever has text in another place (a message, a field) uses the same two steps: parse, then part.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from cepheid.execution.spark.schemas import quote_name
from cepheid.execution.spark.sources.source import OpenStream

RAW = "_cepheid_record"  # the record as it came, where it does not fit; null where it does
FILE = "_cepheid_file"
PARSING = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}


def with_raw(schema: StructType) -> StructType:
    return StructType([*schema.fields, StructField(RAW, StringType())])


def as_texts(schema: StructType) -> StructType:
    return StructType([StructField(field.name, StringType()) for field in schema.fields])


def part_records(parsed: DataFrame, source: str, schema: StructType, reason: Column) -> OpenStream:
    """parsed: columns of the schema, RAW and FILE.  reason: why a record does not fit, from RAW.

    What could be read of a record is kept as well; Spark also refuses to read files for nothing but misfits."""
    is_misfit = F.col(RAW).isNotNull()
    rows = parsed.where(~is_misfit).select(*(quote_name(name) for name in schema.names))
    misfits = parsed.where(is_misfit).select(
        F.lit(source).alias("source"),
        reason.alias("reason"),
        F.col(RAW).alias("record"),
        F.to_json(F.struct(*(F.col(quote_name(name)) for name in schema.names))).alias("parsed"),
        F.col(FILE).alias("file"),
        F.current_timestamp().alias("seen"),
    )
    return OpenStream(rows, misfits)


def explain_misfit(texts: Column, schema: StructType, otherwise: str) -> Column:
    """texts: a struct with the record's columns as text, and RAW where it is not even that.  otherwise: what is wrong
    with a record whose columns cannot be told apart."""
    reasons = [F.when(texts.isNull() | texts[RAW].isNotNull(), F.lit(otherwise))]
    for field in schema.fields:
        if not _is_nested(field.dataType):
            text = texts[field.name]
            wrong = text.isNotNull() & text.try_cast(field.dataType).isNull()
            told = F.concat(F.lit(f'"{field.name}" is "'), text, F.lit(f'", no {field.dataType.simpleString()}'))
            reasons.append(F.when(wrong, told))
    return F.coalesce(*reasons, F.lit("it does not fit the schema"))


def _is_nested(kind: DataType) -> bool:
    return isinstance(kind, StructType | ArrayType | MapType)
