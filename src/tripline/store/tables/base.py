"""The metadata of all tables with its names of constraints, and the types of keys."""

from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Index, Integer, MetaData, String, func, literal_column, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import DDLCompiler, GenericTypeCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Uuid = String(36)
RowNumber = BigInteger().with_variant(Integer(), "sqlite")
"""INTEGER PRIMARY KEY is SQLite's own row number: no second tree."""

BY_TIME: Final = {"partitions": "by time"}
"""PostgreSQL has partitions of these tables by row number, which is time: rows come by the million."""


def partial_index(name: str, *columns: ColumnElement[Any], where: str, unique: bool = False) -> None:
    """An index over the rows that meet the condition.

    Both databases have it. `store/migrate.py` repeats the condition for PostgreSQL: saying so here would load its
    dialect into every process, 0.1 s.
    """
    Index(name, *columns, unique=unique, sqlite_where=text(where))


@compiles(String, "postgresql")
@compiles(Text, "postgresql")
def _in_the_order_of_code_points(type_: String, compiler: GenericTypeCompiler, **options: Any) -> str:
    """Compare text by code point as SQLite does, in any server locale, since pages of lists are ranges of names.

    Text has any length, as in SQLite: inputs are checked at the border, not by the database.
    """
    return 'TEXT COLLATE "C"'


class lowered(GenericFunction[str]):  # noqa: N801  a function of SQL
    """The text in lower case, letters of every script."""

    type = String()
    inherit_cache = True


@compiles(lowered)
def _lowered(function: lowered, compiler: DDLCompiler, **options: Any) -> str:
    return f"lower({compiler.process(function.clauses, **options)})"


@compiles(lowered, "postgresql")
def _lowered_by_icu(function: lowered, compiler: DDLCompiler, **options: Any) -> str:
    return f'lower(({compiler.process(function.clauses, **options)}) COLLATE "und-x-icu") COLLATE "C"'


LAST: Final = 4
"""Number of trailing characters in the ending index: people refer to vehicles by them."""


def last(number: ColumnElement[Any]) -> ColumnElement[str]:
    """The last characters of a number, as indexes have them."""
    return func.substr(number, func.length(number) - literal_column(str(LAST - 1)))
