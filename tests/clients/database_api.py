"""Python's clients of SQL Server, through the interface they share (PEP 249)."""

import datetime
import decimal
import os
import re
import struct
import sys
import threading
import time
import uuid
from contextlib import closing

from harness import CERTIFICATE, ENCRYPT, FAILED_COMMIT, Report, equal

PORT = int(os.environ["VLFLAB_PORT"])
PASSWORD = os.environ["VLFLAB_PASSWORD"]


class MssqlPython:
    """Microsoft's own, on the ODBC driver's core."""

    name, mark = "mssql-python", "?"

    def connect(self, autocommit=False, password=PASSWORD):
        import mssql_python

        text = f"Server=127.0.0.1,{PORT};Database=clients;UID=sa;PWD={{{password}}};"
        text += {
            "": "Encrypt=no;TrustServerCertificate=yes;",
            # Encrypt=yes is the driver's default.
            "on": "TrustServerCertificate=yes;",
            "strict": f"Encrypt=strict;ServerCertificate={CERTIFICATE};",
        }[ENCRYPT]
        return mssql_python.connect(text, autocommit=autocommit)

    def cancel(self, connection):
        connection.timeout = 1
        cursor = connection.cursor()
        failure = raised(cursor.execute, "waitfor delay '00:00:20'")
        assert "imeout" in str(failure), failure
        connection.timeout = 0

    def number(self, failure):
        return None  # The driver gives SQLSTATE and text only.

    def binary(self, value):
        return value


class Pymssql:
    """FreeTDS underneath; parameters are put into the text by the client."""

    name, mark = "pymssql", "%s"

    def connect(self, autocommit=False, password=PASSWORD):
        import pymssql

        return pymssql.connect(
            server="127.0.0.1",
            port=PORT,
            user="sa",
            password=password,
            database="clients",
            autocommit=autocommit,
            **({"encryption": "require"} if ENCRYPT else {}),
        )

    def cancel(self, connection):
        from pymssql import _mssql

        more = {"encryption": "require"} if ENCRYPT else {}
        low = _mssql.connect(server="127.0.0.1", port=str(PORT), user="sa", password=PASSWORD, database="clients", **more)
        low.execute_query("select top 200000 a.object_id from sys.all_columns a cross join sys.all_columns b")
        low.cancel()
        equal(low.execute_scalar("select 7"), 7)
        low.close()

    def number(self, failure):
        return failure.args[0][0] if isinstance(failure.args[0], tuple) else failure.args[0]

    def binary(self, value):
        return value


class PythonTds:
    """Written in Python alone."""

    name, mark = "python-tds", "%s"

    def connect(self, autocommit=False, password=PASSWORD):
        import pytds

        return pytds.connect(
            dsn="127.0.0.1",
            port=PORT,
            user="sa",
            password=password,
            database="clients",
            autocommit=autocommit,
            # Without a file it does not encrypt; the name in it would have to be no address.
            **({"cafile": CERTIFICATE, "validate_host": False} if ENCRYPT else {}),
        )

    def cancel(self, connection):
        cursor = connection.cursor()
        cursor.execute("select top 200000 a.object_id from sys.all_columns a cross join sys.all_columns b")
        cursor.fetchone()
        cursor.cancel()
        cursor.close()
        equal(rows(connection, "select 7"), [(7,)])

    def number(self, failure):
        return failure.number

    def binary(self, value):
        from pytds import Binary

        return Binary(value) if isinstance(value, bytes) else value


class Pyodbc:
    """An ODBC driver underneath: `msodbcsql18`, Microsoft's, or `freetds-odbc`."""

    mark = "?"

    def __init__(self, driver):
        import pyodbc

        self.name = driver
        self.is_microsofts = driver == "msodbcsql18"
        # Types that pyodbc needs a converter for.
        self.unread = () if self.is_microsofts else ("datetimeoffset",)
        pyodbc.native_uuid = True

    def text(self, password):
        text = f"Driver={{{self.name}}};Database=clients;UID=sa;PWD={{{password}}};"
        if self.is_microsofts:
            return f"{text}Server=127.0.0.1,{PORT};" + {
                "": "Encrypt=no;",
                # Encrypt=yes is the driver's default.
                "on": "TrustServerCertificate=yes;",
                "strict": f"Encrypt=strict;ServerCertificate={CERTIFICATE};",
            }[ENCRYPT]
        return f"{text}Server=127.0.0.1;Port={PORT};" + ("Encryption=require;" if ENCRYPT else "")

    def connect(self, autocommit=False, password=PASSWORD):
        import pyodbc

        connection = pyodbc.connect(self.text(password), autocommit=autocommit)
        connection.add_output_converter(-155, moment_with_offset)
        return connection

    def cancel(self, connection):
        connection.timeout = 1
        cursor = connection.cursor()
        failure = raised(cursor.execute, "waitfor delay '00:00:20'")
        assert "imeout" in str(failure), failure
        connection.timeout = 0

    def number(self, failure):
        found = re.search(r"\((\d+)\) \(SQL", str(failure))
        return int(found.group(1)) if found else None

    def binary(self, value):
        return value


def moment_with_offset(data):
    """SQL_SS_TIMESTAMPOFFSET_STRUCT (ODBC documentation, "Data type support for ODBC date and time improvements")."""
    year, month, day, hour, minute, second, nanoseconds, hours, minutes = struct.unpack("<6hI2h", data)
    zone = datetime.timezone(datetime.timedelta(hours=hours, minutes=minutes))
    return datetime.datetime(year, month, day, hour, minute, second, nanoseconds // 1000, zone)


def raised(call, *arguments):
    """The exception a call raises, which it must."""
    try:
        call(*arguments)
    except Exception as failure:  # noqa: BLE001: each client has its own classes
        return failure
    raise AssertionError(f"no error from {arguments}")


def rows(connection, query, *parameters):
    cursor = connection.cursor()
    cursor.execute(query, tuple(parameters)) if parameters else cursor.execute(query)
    found = [tuple(row) for row in cursor.fetchall()]
    cursor.close()
    return found


def run(connection, statement, *parameters):
    cursor = connection.cursor()
    cursor.execute(statement, tuple(parameters)) if parameters else cursor.execute(statement)
    cursor.close()


# SQL, and what Python must make of it.
TYPES = [
    ("cast(1 as bit)", True),
    ("cast(255 as tinyint)", 255),
    ("cast(-32768 as smallint)", -32768),
    ("cast(2147483647 as int)", 2147483647),
    ("cast(-9223372036854775808 as bigint)", -9223372036854775808),
    ("cast(-12345678901234.5678 as decimal(18, 4))", decimal.Decimal("-12345678901234.5678")),
    ("cast(0.00000000000000000000000000000000000001 as decimal(38, 38))", decimal.Decimal("1E-38")),
    ("cast(-922337203685477.5808 as money)", decimal.Decimal("-922337203685477.5808")),
    ("cast(214748.3647 as smallmoney)", decimal.Decimal("214748.3647")),
    ("cast(1.5e300 as float)", 1.5e300),
    ("cast(-0.25 as real)", -0.25),
    ("cast('ab' as char(4))", "ab  "),
    ("cast('h\u00e9llo' as varchar(20))", "h\u00e9llo"),
    ("cast(N'\u4e2d\u6587 \U0001f600' as nvarchar(20))", "\u4e2d\u6587 \U0001f600"),
    ("cast(N'x' as nchar(3))", "x  "),
    ("cast(replicate(cast('m' as varchar(max)), 20000) as varchar(max))", "m" * 20000),
    ("cast(replicate(cast(N'\u00fc' as nvarchar(max)), 9000) as nvarchar(max))", "\u00fc" * 9000),
    ("cast(0x0102 as binary(4))", b"\x01\x02\x00\x00"),
    ("cast(0xDEADBEEF as varbinary(20))", b"\xde\xad\xbe\xef"),
    ("cast('2026-02-28' as date)", datetime.date(2026, 2, 28)),
    ("cast('23:59:58.123456' as time(6))", datetime.time(23, 59, 58, 123456)),
    ("cast('2026-02-28 12:34:56.790' as datetime)", datetime.datetime(2026, 2, 28, 12, 34, 56, 790000)),
    ("cast('2026-02-28 12:34:56.789012' as datetime2(6))", datetime.datetime(2026, 2, 28, 12, 34, 56, 789012)),
    ("cast('2026-02-28 12:34' as smalldatetime)", datetime.datetime(2026, 2, 28, 12, 34)),
    (
        "cast('2026-02-28 12:34:56.5 +02:00' as datetimeoffset(3))",
        datetime.datetime(2026, 2, 28, 12, 34, 56, 500000, datetime.timezone(datetime.timedelta(hours=2))),
    ),
    (
        "cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier)",
        uuid.UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF"),
    ),
]


def normal(value):
    """Some clients give driver types or UUIDs as text; the value counts."""
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def types(client):
    connection = client.connect()
    for sql, expected in TYPES:
        if sql_type(sql).split("(")[0] in getattr(client, "unread", ()):
            continue
        found = normal(rows(connection, f"select {sql}, nullif({sql}, {sql})")[0][0])
        if isinstance(expected, uuid.UUID) and isinstance(found, str):
            found = uuid.UUID(found)
        equal(found, expected, sql)
        equal(rows(connection, f"declare @v sql_variant select cast(null as {sql_type(sql)})"), [(None,)], sql)
    connection.close()


def sql_type(cast):
    return cast.rsplit(" as ", 1)[1][:-1]


def connect(client):
    connection = client.connect()
    equal(rows(connection, "select db_name(), suser_sname(), @@trancount * 0 + 1"), [("clients", "sa", 1)])
    version = rows(connection, "select cast(serverproperty('ProductVersion') as varchar(30))")[0][0]
    assert version.startswith("16.0."), version
    connection.close()


def wrong_password(client):
    failure = raised(client.connect, False, "wrong")
    assert "Login failed for user 'sa'" in str(failure), failure


PARAMETERS = [
    7,
    2**40,
    "text \u4e2d",
    1.5,
    decimal.Decimal("12.340"),
    datetime.datetime(2026, 1, 2, 3, 4, 5, 123000),
    datetime.date(2026, 1, 2),
    b"bin\x00",
    None,
    True,
    "x" * 3000,
]


def parameters(client):
    connection = client.connect(autocommit=True)
    run(connection, "if object_id('parameters') is not null drop table parameters")
    run(
        connection,
        "create table parameters (i int, b bigint, n nvarchar(20), f float, d decimal(9, 3), t datetime, day date, "
        "v varbinary(10), nothing int, flag bit, long nvarchar(max))",
    )
    marks = ", ".join([client.mark] * len(PARAMETERS))
    for _ in range(3):  # Clients prepare at the first, second or third execution.
        run(connection, f"insert parameters values ({marks})", *(client.binary(value) for value in PARAMETERS))
    found = rows(connection, f"select * from parameters where i = {client.mark} and n = {client.mark}", 7, "text \u4e2d")
    equal(len(found), 3)
    equal([normal(value) for value in found[0]], PARAMETERS)
    # ODBC sends ntext, which LEN does not take.
    equal(rows(connection, f"select datalength({client.mark})", "\u00fc" * 9000), [(18000,)])
    connection.close()


XML = "<order id=\"7\"><name>te\u4e2dxt</name><name>\U0001d11e</name></order>"


def xml_values(client):
    """xml is a type of its own on the wire; a program in Python has it as text."""
    connection = client.connect(autocommit=True)
    run(connection, "if object_id('documents') is not null drop table documents")
    run(connection, "create table documents (id int not null, d xml)")
    long = "<long>" + "m" * 50000 + "</long>"
    for number, text in enumerate((XML, None, long)):
        run(connection, f"insert documents values ({client.mark}, {client.mark})", number, text)
    equal([row[0] for row in rows(connection, "select d from documents order by id")], [XML, None, long])
    equal(rows(connection, "select d.value('(/order/@id)[1]', 'int'), d.query('/order/name[1]') from documents where id = 0"), [(7, "<name>te\u4e2dxt</name>")])
    equal(rows(connection, "select id from documents where id > 0 order by id for xml path('r'), type"), [("<r><id>1</id></r><r><id>2</id></r>",)])
    connection.close()


def transactions(client):
    connection, other = client.connect(), client.connect(autocommit=True)
    run(other, "if object_id('account') is not null drop table account")
    run(other, "create table account (id int not null primary key, amount int not null)")
    run(connection, "insert account values (1, 10)")
    connection.commit()
    run(connection, "update account set amount = 99")
    connection.rollback()
    equal(rows(connection, "select id, amount from account"), [(1, 10)])
    connection.rollback()
    run(connection, "update account set amount = 11")
    connection.commit()
    equal(rows(other, "select id, amount from account"), [(1, 11)])
    connection.close()
    other.close()


# What Microsoft's ODBC driver makes of a DONE that says that the server ends the connection; it keeps the error's own words to itself.
ENDED = "Connection may have been terminated by the server"


def failed_commit(client):
    """`failed_commit.py` has made the log of the database victim fail."""
    connection = client.connect()
    run(connection, "insert victim.dbo.committed values (1)")
    failure = raised(connection.commit)
    assert "victim" in str(failure) or ENDED in str(failure), failure


def errors(client):
    connection = client.connect(autocommit=True)
    for statement, number, text in [
        ("select * from absent", 208, "Invalid object name 'absent'"),
        ("select 1 / 0", 8134, "Divide by zero"),
        ("selekt 1", None, "selekt"),
        ("raiserror('my %d message', 16, 3, 5)", 50000, "my 5 message"),
        ("insert account values (1, 1)", 2627, "PRIMARY KEY"),
    ]:
        failure = raised(rows, connection, statement)
        assert text in str(failure), f"{statement}: {failure!r}"
        if number and client.number(failure):
            equal(client.number(failure), number, statement)
    equal(rows(connection, "select 5"), [(5,)])
    caught = "begin try select 1 / 0 end try begin catch select error_number(), error_severity(), error_line() end catch"
    cursor = connection.cursor()
    cursor.execute(f"\n\n{caught}")
    found = cursor.fetchall()
    while not found and cursor.nextset():
        found = cursor.fetchall()
    equal(tuple(found[0]), (8134, 16, 3))
    connection.close()


def result_sets(client):
    connection = client.connect()
    cursor = connection.cursor()
    cursor.execute("select 1 as a select 2, 'x' select 3 where 1 = 0 select 4")
    found = []
    while True:
        found.append([tuple(row) for row in cursor.fetchall()])
        if not cursor.nextset():
            break
    equal(found, [[(1,)], [(2, "x")], [], [(4,)]])
    connection.close()


def many_rows(client):
    connection = client.connect()
    run(connection, "if object_id('many') is not null drop table many create table many (a int not null, b varchar(50))")
    run(connection, "insert many values (1, 'row 1')")
    for _ in range(14):
        run(connection, "insert many select a + (select max(a) from many), b from many")
    connection.commit()
    found = rows(connection, "select a, b from many order by a")
    equal(len(found), 16384)
    equal(found[-1], (16384, "row 1"))
    connection.close()


def cancel(client):
    connection = client.connect(autocommit=True)
    begin = time.monotonic()
    client.cancel(connection)
    assert time.monotonic() - begin < 15, "the cancel waited for the end of the statement"
    equal(rows(connection, "select 8"), [(8,)])
    connection.close()


def lock_wait(client):
    first, second = client.connect(), client.connect()
    run(first, "update account set amount = 20 where id = 1")
    run(second, "set lock_timeout 100")
    failure = raised(run, second, "update account set amount = amount + 1 where id = 1")
    assert "Lock request time out period exceeded" in str(failure), failure
    second.rollback()
    run(second, "set lock_timeout -1")
    waiter = threading.Thread(target=run, args=(second, "update account set amount = amount + 1 where id = 1"))
    waiter.start()
    waiter.join(0.3)
    assert waiter.is_alive(), "the second writer did not wait"
    first.commit()
    waiter.join(20)
    assert not waiter.is_alive(), "the second writer waits for ever"
    second.commit()
    equal(rows(first, "select amount from account"), [(21,)])
    first.close()
    second.close()


def negotiated(client):
    """What the server says of the connection: whether it is encrypted, and its version of TDS as LOGINACK has it."""
    connection = client.connect(autocommit=True)
    query = "select encrypt_option, protocol_version, net_packet_size from sys.dm_exec_connections where session_id = @@spid"
    encrypted, version, packet_bytes = rows(connection, query)[0]
    print(f"negotiated {client.name} {ENCRYPT}: encrypt_option {encrypted}, TDS {version:#x}, packets of {packet_bytes} bytes", flush=True)
    equal(encrypted, "TRUE" if ENCRYPT else "FALSE")
    equal(version, 0x74000004)
    connection.close()


def prepares(client):
    """One statement with one kind of parameters, again and again: the plan is used again, and so is the statement's handle."""
    connection = client.connect(autocommit=True)
    cursor = connection.cursor()
    for value in range(50):
        cursor.execute(f"select {client.mark} + 1, {client.mark}", (value, f"text {value}"))
        equal([tuple(row) for row in cursor.fetchall()], [(value + 1, f"text {value}")])
    cursor.close()
    connection.close()


CHECKS = [
    ("connects", connect),
    ("says what was negotiated", negotiated),
    ("prepares once", prepares),
    ("is refused with a wrong password", wrong_password),
    ("reads every type", types),
    ("sends parameters", parameters),
    ("reads and writes xml", xml_values),
    ("commits and rolls back", transactions),
    ("is told errors", errors),
    ("reads several result sets", result_sets),
    ("reads many rows", many_rows),
    ("cancels", cancel),
    ("waits for locks", lock_wait),
]


def passes_tables(client):
    """The only one of these drivers that sends them by its interface."""
    import pytds

    with closing(client.connect(autocommit=True)) as connection:
        for statement in (
            "drop procedure if exists dbo.pytds_sum",
            "drop type if exists dbo.pytds_pairs",
            "create type dbo.pytds_pairs as table (id int not null primary key, v nvarchar(20), m nvarchar(max))",
            "create procedure dbo.pytds_sum @rows dbo.pytds_pairs readonly as select count(*), max(v), max(len(m)) from @rows",
        ):
            run(connection, statement)

        def table(*values):
            return pytds.TableValuedParam(type_name="dbo.pytds_pairs", rows=list(values))

        cursor = connection.cursor()
        cursor.callproc("dbo.pytds_sum", (table((1, "a", "m" * 20000), (2, "te\u4e2dxt", "")),))
        equal(cursor.fetchall(), [(2, "te\u4e2dxt", 20000)])
        cursor.execute("select id, v from %s order by id", (table((2, "b", "x"), (1, "a", "y")),))
        equal(cursor.fetchall(), [(1, "a"), (2, "b")])
        failure = raised(cursor.callproc, "dbo.pytds_sum", (table((1, "a", "x"), (1, "b", "y")),))
        equal(client.number(failure) in (2627, 8061), True, str(failure))


def copies_in_bulk(client):
    import pytds
    from pytds.tds_base import Column
    from pytds.tds_types import BigIntType, DecimalType, IntType, NVarCharMaxType, NVarCharType

    with closing(client.connect(autocommit=True)) as connection:
        run(connection, "drop table if exists pytds_bulk")
        run(connection, "create table pytds_bulk (id int identity, n nvarchar(4000) default N'none', b bigint, d decimal(9, 2), m nvarchar(max))")
        columns = [
            Column("n", type=NVarCharType(size=50), flags=Column.fNullable),
            Column("b", type=BigIntType(), flags=Column.fNullable),
            Column("d", type=DecimalType(precision=9, scale=2), flags=Column.fNullable),
            Column("m", type=NVarCharMaxType(), flags=Column.fNullable),
        ]
        data = [
            (None if row % 2 else f"te\u4e2d{row}", row, decimal.Decimal("1.25"), None if row % 2 else "m" * (row % 500))
            for row in range(3000)
        ]
        connection.cursor().copy_to(table_or_view="pytds_bulk", columns=columns, data=data, rows_per_batch=100, kb_per_batch=8)
        query = "select count(*), sum(case when n = 'none' then 1 else 0 end), sum(b), sum(d), max(len(m)), max(id) from pytds_bulk"
        expected = (3000, 1500, sum(range(3000)), decimal.Decimal("3750.00"), 498, 3000)
        equal(rows(connection, query), [expected])
        connection.cursor().copy_to(table_or_view="pytds_bulk", columns=columns, data=data[:100], keep_nulls=True, tablock=True, check_constraints=True)
        equal(rows(connection, "select count(*) from pytds_bulk where n is null"), [(50,)])
        wrong = [Column("n", type=IntType(), flags=0)]
        failure = raised(lambda: connection.cursor().copy_to(table_or_view="pytds_bulk", columns=wrong, data=[(1,)]))
        equal(client.number(failure), 4816)
        failure = raised(lambda: connection.cursor().copy_to(table_or_view="absent", columns=columns, data=data[:1]))
        equal(client.number(failure), 208)
        equal(rows(connection, "select count(*) from pytds_bulk"), [(3100,)])


def sends_many_rows(client):
    """fast_executemany: an array of parameters for one prepared statement."""
    with closing(client.connect(autocommit=True)) as connection:
        run(connection, "drop table if exists odbc_rows")
        run(connection, "create table odbc_rows (i int not null, n nvarchar(20), d decimal(9, 2), t datetime2(3))")
        cursor = connection.cursor()
        cursor.fast_executemany = client.is_microsofts
        # Whole seconds: the driver asks sp_describe_undeclared_parameters for the fraction's digits.
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5)
        data = [(row, None if row % 2 else f"te\u4e2d{row}", decimal.Decimal("1.25"), moment) for row in range(2000)]
        cursor.executemany("insert odbc_rows values (?, ?, ?, ?)", data)
        cursor.close()
        query = "select count(*), count(n), sum(i), sum(d), min(t) from odbc_rows"
        equal(rows(connection, query), [(2000, 1000, sum(range(2000)), decimal.Decimal("2500.00"), moment)])


def reads_the_catalog(client):
    """SQLTables, SQLColumns, SQLPrimaryKeys, SQLForeignKeys, SQLStatistics, SQLProcedures, SQLGetTypeInfo."""
    with closing(client.connect(autocommit=True)) as connection:
        run(connection, "drop table if exists odbc_child")
        run(connection, "drop table if exists odbc_parent")
        run(connection, "create table odbc_parent (id int not null primary key, n nvarchar(20))")
        run(connection, "create table odbc_child (id int not null primary key, parent int references odbc_parent (id))")
        cursor = connection.cursor()
        equal([row.table_name for row in cursor.tables(table="odbc_parent")], ["odbc_parent"])
        equal([row.column_name for row in cursor.columns(table="odbc_parent")], ["id", "n"])
        equal([row.column_name for row in cursor.primaryKeys("odbc_parent")], ["id"])
        equal([row.fkcolumn_name for row in cursor.foreignKeys(foreignTable="odbc_child")], ["parent"])
        equal([row.column_name for row in cursor.statistics("odbc_parent") if row.column_name], ["id"])
        equal("nvarchar" in [row.type_name for row in cursor.getTypeInfo()], True)
        equal(cursor.procedures(procedure="absent").fetchall(), [])
        # A connection goes into the pool with the statements that it has.
        cursor.close()


def nests_cursors(client):
    """MARS: rows of one query are read while others are asked, in one transaction, on one connection."""
    import pyodbc

    with closing(pyodbc.connect(client.text(PASSWORD) + "MARS_Connection=yes;", autocommit=False)) as connection:
        outer, inner, third = (connection.cursor() for _ in range(3))
        inner.execute("create table #nested (n int not null primary key)")
        # Several megabytes: no client reads ahead so far.
        outer.execute(
            "select value as n, replicate(cast('m' as varchar(max)), 1000) as m from generate_series(1, 6000)"
        )
        seen = 0
        for row in outer:
            seen += 1
            equal(len(row.m), 1000)
            if seen % 500 == 0:
                inner.execute("insert #nested values (?)", seen)
                third.execute("select count(*), max(n), @@trancount, @@spid from #nested")
                count, last, transactions, spid = third.fetchone()
                equal((count, last, transactions), (seen // 500, seen, 1))
        equal(seen, 6000)
        connection.rollback()
        equal(inner.execute("select object_id('tempdb..#nested'), @@trancount, @@spid").fetchone()[0], None)
        # An answer that is given up leaves the others alone.
        outer.execute("select value, replicate('m', 100) as m from generate_series(1, 200000)")
        outer.fetchone()
        equal(inner.execute("select 42").fetchone()[0], 42)
        outer.close()
        equal(third.execute("select 43").fetchone()[0], 43)


def reads_what_catch_sends(client):
    """An error that TRY caught in the midst of a result set leaves that with an end, and CATCH's result set comes behind it."""
    connection = client.connect(autocommit=True)
    cursor = connection.cursor()
    cursor.execute(
        "create procedure #cut @rows int as begin try select 10 / (@rows + 1 - value) as n from generate_series(1, 200) "
        "select 'whole' as s end try begin catch select error_number() as e end catch"
    )
    for wanted, count, last in ((300, 200, "whole"), (150, 150, 8134), (300, 200, "whole")):
        cursor.execute("exec #cut ?", wanted)
        equal(len(cursor.fetchall()), count)
        equal(cursor.nextset(), True)
        equal(cursor.fetchall()[0][0], last)
        equal(bool(cursor.nextset()), False)
    connection.close()


def is_pooled(client):
    """The driver manager keeps a closed connection; used again, it is as new."""
    import pyodbc

    assert pyodbc.pooling, "pooling is off"
    first = client.connect(autocommit=True)
    run(first, "set lock_timeout 1234")
    run(first, "create table #kept (a int)")
    before = rows(first, "select @@spid, @@lock_timeout")[0]
    equal(before[1], 1234)
    first.commit()
    if client.is_microsofts:
        # SQL_ATTR_RESET_CONNECTION, SQL_RESET_CONNECTION_YES: the next request begins with a reset.
        first.set_attr(116, 1)
    first.close()
    second = client.connect(autocommit=True)
    after = rows(second, "select @@spid, @@lock_timeout, object_id('tempdb..#kept')")[0]
    second.close()
    if not client.is_microsofts:
        return  # FreeTDS has nothing that resets a connection, so the manager opens another.
    equal(after, (before[0], -1, None))


def main():
    clients = (MssqlPython, Pymssql, PythonTds)
    client = {each.name: each for each in clients}[sys.argv[1]]() if sys.argv[1] in [each.name for each in clients] else Pyodbc(sys.argv[1])
    report = Report(client.name)
    if FAILED_COMMIT:
        report.check(FAILED_COMMIT, failed_commit, client)
        return 1 if report.failed else 0
    for name, check in CHECKS:
        report.check(name, check, client)
    if client.name == "python-tds":
        report.check("passes tables", passes_tables, client)
        report.check("copies in bulk", copies_in_bulk, client)
    if isinstance(client, Pyodbc):
        report.check("sends many rows", sends_many_rows, client)
        report.check("reads the catalog", reads_the_catalog, client)
        report.check("reads what CATCH sends", reads_what_catch_sends, client)
        # FreeTDS 1.3 ends in a segmentation fault of its own under MARS.
        if client.name == "msodbcsql18":
            report.check("nests cursors", nests_cursors, client)
        report.check("is pooled", is_pooled, client)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
