#!/usr/bin/env python3
"""A database with every feature, exported: into empty servers as 2012 and as 2022, killed twice in the middle, and into folders.

    benches/export.py                    a database of 1 GB, 4 GB of disk
    benches/export.py --megabytes 16     shows that it works
    VLFLAB=path benches/export.py        another binary than target/release/vlflab

The definitions are those of the tests of `export` (crates/cli/tests/it/export_*.sql); the rows are made here, of every type, until the database
takes as much as asked. Each export is killed once the destination has a third of the source's rows, and again once it has two thirds; the third
call resumes it. What `export` compares at its end does not count here: definitions are compared by the catalog views of both sides, and rows by
counts, sums and checksums of each column, which T-SQL computes on both sides. The CSV and Parquet files of a folder are counted and summed by
DuckDB (`pip install duckdb`; Parquet by a program with the feature `history`).

Prints a line for each step, with seconds; the exit code is 1 if something differs or no kill came in the middle."""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from live import PASSWORD, PROGRAM, ROOT, Server

SCRIPTS = [ROOT / "crates/cli/tests/it" / f"export_{name}.sql" for name in ("source", "features")]
ENVIRONMENT = {**os.environ, "SQLCMDPASSWORD": PASSWORD, "MSSQL_PASSWORD": PASSWORD, "VLFLAB_TO_PASSWORD": PASSWORD}
USED_MB = "select sum(used_page_count) / 128 from sys.dm_db_partition_stats"
ROWS = "select sum(row_count) from sys.dm_db_partition_stats as p join sys.tables as t on t.object_id = p.object_id where p.index_id < 2"
KILLED_AT = [1 / 3, 2 / 3]

# One batch of rows, numbered from {first} to {last}.
FILL = """set nocount on
insert sales.orders (id, customer, amount, note, f, d, g, x, v, t, i, o, m, tm)
    select value, case value % 3 when 0 then null else 10 + 5 * (value % 2) end, value % 99999, case when value % 5 = 0 then null else replicate('n', value % 50) end,
    value / 7.0, dateadd(second, value, '2020-01-01'), newid(), '<a>1</a>', cast(value as int), 'text', 0x0102, '2020-01-01 01:02:03.1234567 +02:00',
    value * 1.5, '01:02:03.1234567' from generate_series({first}, {last})
insert dbo.every_type (id, b, ti, si, i, bi, d9, d38, n5, mo, smo, r, f, da, t0, t7, sdt, dt, dt0, dt3, dt7, dto, c, vc, vcm, nc, nv, nvm, tx, ntx, sn, bin, vb, vbm, im, x, v, amount, phone, h)
    select value, value % 2, value % 256, value % 30000 - 15000, value * 3, value * cast(1000003 as bigint), value % 1000000 / 1000.0, value * cast(1234567.8901234567 as decimal(38, 10)),
    value % 99999 / 100000.0, value * 1.0001, value % 200000 / 3.0, value / 3.0, value / 7.0, dateadd(day, value % 100000, '1900-01-01'), dateadd(second, value % 86400, cast('00:00' as time(0))),
    dateadd(microsecond, value % 1000000, cast('12:00' as time(7))), dateadd(minute, value % 1000000, '2000-01-01'), dateadd(minute, value % 1000000, '2000-01-01T00:00:00.003'),
    dateadd(second, value, '2001-01-01'), dateadd(second, value, '2001-01-01T00:00:00.123'), dateadd(second, value, cast('2001-01-01T00:00:00.1234567' as datetime2(7))),
    todatetimeoffset(dateadd(second, value, cast('2001-01-01' as datetime2(3))), '+05:30'), concat('c', value % 999), replicate(char(65 + value % 26), value % 200),
    case when value % 7 = 0 then null else replicate(cast('long ' as varchar(max)), value % 900) end, nchar(9000 + value % 900), concat(N'Größe ', value, N', "quoted"'),
    case when value % 500 = 0 then replicate(cast(N'雪' as nvarchar(max)), 20000) else replicate(cast(N'ñ' as nvarchar(max)), value % 300) end, replicate('t', value % 300),
    replicate(N'ü', value % 100), concat(N'row ', value), cast(value as binary(6)), cast(replicate('b', value % 300) as varbinary(300)),
    cast(replicate(cast('bytes' as varchar(max)), value % 400) as varbinary(max)), cast(replicate('i', value % 90) as varbinary(max)), concat(N'<a b="', value, N'">text <c/> &amp;</a>'),
    case value % 4 when 0 then cast(value as sql_variant) when 1 then cast(concat(N'a variant ', value) as sql_variant) when 2 then cast(value / 3.0 as sql_variant) end, value * 1.25, '555-0100',
    cast(concat('/', value % 100, '/', value, '/') as hierarchyid) from generate_series({first}, {first} + ({last} - {first}) / 8)
insert [odd schema].[a ]]heap, "so" it's] ([a column]) select case when value % 11 = 0 then null else value % 1000000 end from generate_series({first}, {last})
insert dbo.tree (id, parent, name) select value, value % 3 + 1, concat(N'a leaf ', value) from generate_series({first}, {first} + ({last} - {first}) / 8)
insert dbo.pairs (a, b) select value, value + 1 from generate_series({first}, {last})
insert dbo.of_pairs (a, b, name) select value, case when value % 4 = 0 then null else value + 1 end, null from generate_series({first}, {last})
"""
BATCH_ROWS = 8_000
FIRST_ROW = 10_000

# What a database consists of, by the catalog: each query answers texts. Names that a server chose itself are left out, with object numbers.
DEFINITIONS = {
    "objects": "select concat(schema_name(o.schema_id), '.', o.name, ' ', o.type) from sys.objects as o where o.is_ms_shipped = 0 and o.type not in ('TT', 'D', 'C', 'PK', 'UQ', 'F')",
    "columns": "select concat(schema_name(o.schema_id), '.', o.name, '.', c.name, ' ', c.column_id, ' ', type_name(c.user_type_id), ' ', c.max_length, ' ', c.precision, ' ', c.scale, ' ', "
    "c.is_nullable, c.is_identity, c.is_computed, c.is_rowguidcol, c.is_ansi_padded, ' ', c.collation_name) from sys.columns as c join sys.objects as o on o.object_id = c.object_id and o.type in ('U', 'V', 'IF', 'TF')",
    "table types": "select concat(schema_name(t.schema_id), '.', t.name, '.', c.name, ' ', c.column_id, ' ', type_name(c.user_type_id), ' ', c.max_length, c.is_nullable) "
    "from sys.table_types as t join sys.columns as c on c.object_id = t.type_table_object_id",
    "types": "select concat(schema_name(schema_id), '.', name, ' ', type_name(system_type_id), ' ', max_length, ' ', precision, ' ', scale, ' ', is_nullable, is_table_type) from sys.types where is_user_defined = 1",
    "indexes": "select concat(object_name(i.object_id), '.', case when k.is_system_named = 1 then '' else i.name end, ' ', i.type, ' ', i.is_unique, i.is_primary_key, i.is_unique_constraint, i.is_disabled, i.is_padded, "
    "i.ignore_dup_key, ' ', i.fill_factor, ' ', i.filter_definition) from sys.indexes as i join sys.tables as t on t.object_id = i.object_id "
    "left join sys.key_constraints as k on k.parent_object_id = i.object_id and k.unique_index_id = i.index_id",
    "columns of indexes": "select concat(object_name(x.object_id), '.', i.name, '.', col_name(x.object_id, x.column_id), ' ', x.key_ordinal, ' ', x.is_descending_key, x.is_included_column) "
    "from sys.index_columns as x join sys.tables as t on t.object_id = x.object_id join sys.indexes as i on i.object_id = x.object_id and i.index_id = x.index_id",
    "foreign keys": "select concat(name, ' ', object_name(parent_object_id), ' ', object_name(referenced_object_id), ' ', delete_referential_action_desc, ' ', update_referential_action_desc, ' ', "
    "is_disabled, is_not_trusted) from sys.foreign_keys",
    "columns of foreign keys": "select concat(object_name(constraint_object_id), ' ', constraint_column_id, ' ', col_name(parent_object_id, parent_column_id), ' ', "
    "col_name(referenced_object_id, referenced_column_id)) from sys.foreign_key_columns",
    "checks": "select concat(case when is_system_named = 1 then '' else name end, ' ', definition, ' ', is_disabled, is_not_trusted) from sys.check_constraints",
    "defaults": "select concat(case when is_system_named = 1 then '' else name end, ' ', definition, ' ', col_name(parent_object_id, parent_column_id)) from sys.default_constraints",
    "computed columns": "select concat(object_name(object_id), '.', name, ' ', definition, ' ', is_persisted) from sys.computed_columns",
    "identities": "select concat(object_name(object_id), '.', name, ' ', cast(seed_value as decimal(38, 0)), ' ', cast(increment_value as decimal(38, 0))) "
    "from sys.identity_columns where object_id in (select object_id from sys.tables)",
    "sequences": "select concat(schema_name(schema_id), '.', name, ' ', type_name(user_type_id), ' ', cast(start_value as decimal(38, 0)), ' ', cast(increment as decimal(38, 0)), ' ', "
    "cast(minimum_value as decimal(38, 0)), ' ', cast(maximum_value as decimal(38, 0)), ' ', is_cycling, is_cached) from sys.sequences",
    "modules": "select concat(object_name(m.object_id), ' ', m.uses_ansi_nulls, m.uses_quoted_identifier, m.is_schema_bound, m.is_recompiled, ' ', convert(varchar(40), hashbytes('sha1', m.definition), 2)) "
    "from sys.sql_modules as m",
    "triggers": "select concat(t.name, ' ', object_name(t.parent_id), ' ', t.parent_class, ' ', t.is_disabled, t.is_instead_of_trigger, ' ', e.type_desc, ' ', e.is_first, e.is_last) "
    "from sys.triggers as t join sys.trigger_events as e on e.object_id = t.object_id",
    "parameters": "select concat(object_name(object_id), ' ', parameter_id, ' ', name, ' ', type_name(user_type_id), ' ', max_length, ' ', is_output, is_readonly) from sys.parameters "
    "where object_id in (select object_id from sys.objects)",
    "synonyms": "select concat(schema_name(schema_id), '.', name, ' ', base_object_name) from sys.synonyms",
    "statistics": "select concat(object_name(s.object_id), ' ', s.name, ' ', s.no_recompute, ' ', col_name(c.object_id, c.column_id), ' ', c.stats_column_id) from sys.stats as s "
    "join sys.stats_columns as c on c.object_id = s.object_id and c.stats_id = s.stats_id where s.user_created = 1",
    "extended properties": "select concat(class, ' ', name, ' ', convert(nvarchar(200), value), ' ', case class when 1 then object_name(major_id) end, ' ', minor_id) from sys.extended_properties",
}
# What identities and sequences give next. The views do not tell: a sequence that was used shows the value that it gave last, one that was
# restarted the value that it gives next.
NEXT_VALUES = """insert dbo.emptied (a) values (1) select scope_identity()
insert dbo.empty_one default values select scope_identity()
insert dbo.numbered default values select scope_identity()
insert dbo.of_pairs (a, b) values (1, 1) select scope_identity()
insert sales.customers (name, phone) values (N'next', '3') select scope_identity()
select next value for dbo.countdown select next value for dbo.unused select next value for sales.numbers
"""
COLUMNS = """select schema_name(t.schema_id), t.name, c.name, type_name(c.system_type_id), c.is_computed, c.scale from sys.columns as c
    join sys.tables as t on t.object_id = c.object_id where type_name(c.system_type_id) <> 'timestamp' order by t.object_id, c.column_id"""
WHOLE = {"bit": "int", "tinyint": "int", "smallint": "int", "int": "bigint", "bigint": "decimal(38, 0)"}
EXACT = {"decimal", "numeric", "money", "smallmoney"}
# Of those the checksum is of the bytes or the text.
AS_TEXT = {"text": "varchar(max)", "ntext": "nvarchar(max)", "xml": "nvarchar(max)", "image": "varbinary(max)", "hierarchyid": "varbinary(892)", "sql_variant": "nvarchar(4000)"}
EXPORTED = re.compile(r"(\d+) failed, (\d+) differences")


def asked(server, text, database="shop"):
    """The rows of the answer, each a list of texts."""
    command = [PROGRAM, "sql", "-S", server.address, "-d", database, "-b", "-h", "-1", "-W", "-s", "\x1f", "-w", "65535", "-Q", f"set nocount on {text}"]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{text}\n{done.stdout}{done.stderr}")
    return [line.split("\x1f") for line in done.stdout.split("\n") if line]


def number(server, text):
    """What a query answers that has one number; 0 where the database is not there yet."""
    command = [PROGRAM, "sql", "-S", server.address, "-d", "shop", "-b", "-h", "-1", "-W", "-Q", f"set nocount on {text}"]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True)
    found = done.stdout.strip()
    return int(found) if done.returncode == 0 and found.isdigit() else 0


def fill(server, megabytes):
    for script in SCRIPTS:
        done = subprocess.run([PROGRAM, "sql", "-S", server.address, "-b", "-i", str(script)], env=ENVIRONMENT, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{script}: {done.stdout}{done.stderr}")
    server.run("alter database shop set recovery simple")
    first = FIRST_ROW
    while number(server, USED_MB) < megabytes:
        server.run(FILL.format(first=first, last=first + BATCH_ROWS - 1), "shop")
        first += BATCH_ROWS


def columns_of(server):
    """Of each table: its columns, as name, type, whether it is computed, digits behind the point."""
    tables = {}
    for schema, table, column, kind, is_computed, scale in asked(server, COLUMNS):
        tables.setdefault((schema, table), []).append((column, kind, is_computed == "1", int(scale)))
    return tables


def quoted(name):
    return "[" + name.replace("]", "]]") + "]"


def in_double_quotes(name):
    return '"' + name.replace('"', '""') + '"'


def sums_of(server, tables):
    """Of each column: rows, values, bytes, the sum of numbers, and a checksum of the rest."""
    found = {}
    for (schema, table), columns in tables.items():
        parts = ["count_big(*)"]
        for name, kind, _, _ in columns:
            column = quoted(name)
            value = f"convert({AS_TEXT[kind]}, {column})" if kind in AS_TEXT else column
            if kind in WHOLE:
                total = f"sum(convert({WHOLE[kind]}, {column}))"
            elif kind in EXACT:
                total = f"sum({column})"
            else:
                total = f"checksum_agg(binary_checksum({value}))"
            parts += [f"count_big({value})", f"sum(convert(bigint, datalength({column})))", total]
        found[(schema, table)] = asked(server, f"select {', '.join(parts)} from {quoted(schema)}.{quoted(table)}")[0]
    return found


def definitions_of(server):
    return {what: sorted(row[0] for row in asked(server, query)) for what, query in DEFINITIONS.items()}


def differences(of_source, of_destination):
    """What is not the same, in words."""
    told = []
    for what, expected in of_source.items():
        there = of_destination.get(what)
        if there != expected:
            both = zip(expected, there or []) if isinstance(expected, list) else []
            told.append(f"{what}: {next(((a, b) for a, b in both if a != b), (len(expected), len(there or [])))}")
    return told


class Export:
    """An export that can be killed, in a folder that has its state."""

    def __init__(self, source, folder, to, more=()):
        self.command = [PROGRAM, "export", "shop", "-S", source.address, "--to", to, *more]
        self.folder = folder

    def begin(self):
        return subprocess.Popen(self.command, cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill_at(self, rows, destination):
        """Kills it once there are so many rows; answers how many there were, None if it had ended by itself."""
        exporting = self.begin()
        while (there := number(destination, ROWS)) < rows and exporting.poll() is None:
            pass
        exporting.kill()
        exporting.communicate()
        return there if exporting.returncode == -signal.SIGKILL else None

    def end(self):
        """Seconds; it has to end without a difference."""
        begin = time.monotonic()
        output, _ = (exporting := self.begin()).communicate()
        if exporting.returncode != 0 or EXPORTED.search(output).groups() != ("0", "0"):
            sys.exit(f"export ended with {exporting.returncode}: {output[-3000:]}")
        return time.monotonic() - begin


def into_server(source, folder, version, expected):
    """An export into an empty server of that version, killed twice; answers what differs, and the next values there."""
    room = folder / version
    room.mkdir()
    destination = Server(room / "data", "--sql-version", version)
    try:
        rows, killed = number(source, ROWS), []
        port = destination.address.rsplit(",", 1)[1]
        export = Export(source, room, f"mssql://sa@127.0.0.1:{port}")
        for part in KILLED_AT:
            killed.append(export.kill_at(rows * part, destination))
        seconds = export.end()
        of_source, tables = expected
        found = differences(of_source, {**definitions_of(destination), **sums_of(destination, tables)})
        at = ", ".join("it had ended" if there is None else f"{there:,}" for there in killed)
        print(
            f"as {version}: killed at {at} of {rows:,} rows, then {seconds:.1f} s; {len(DEFINITIONS)} kinds of definitions and "
            f"{len(tables)} tables compared: {len(found)} differences",
            flush=True,
        )
        found = [f"as {version}, {line}" for line in found]
        found += [f"as {version}: it had ended before it was killed" for there in killed if there is None]
        return found, asked(destination, NEXT_VALUES)
    finally:
        destination.stop()
        shutil.rmtree(room)


def file_of(folder, schema, table, form):
    """The path that docs/export.md gives a table's rows."""
    safe = [re.sub(rb"[^A-Za-z0-9_ -]", lambda found: b"%%%02X" % ord(found[0]), name.encode()).decode() for name in (schema, table)]
    return folder / "data" / f"{safe[0]}.{safe[1]}.{form}"


def read_back(folder, form, tables, expected):
    """Counts and sums of the files by DuckDB, against those of the source; answers what differs."""
    import duckdb

    found = []
    for (schema, table), columns in tables.items():
        path = file_of(folder, schema, table, form)
        name_of_file = str(path).replace("'", "''")
        source = (
            f"read_csv('{name_of_file}', header = true, all_varchar = true, allow_quoted_nulls = false, max_line_size = 10000000)"
            if form == "csv"
            else f"read_parquet('{name_of_file}')"
        )
        parts, wanted = ["count(*)"], [expected[(schema, table)][0]]
        for index, (name, kind, is_computed, scale) in enumerate(columns):
            if is_computed:
                continue
            count, _, total = expected[(schema, table)][1 + index * 3 : 4 + index * 3]
            column = in_double_quotes(name)
            parts.append(f"count({column})")
            wanted.append(count)
            if kind in WHOLE or kind in EXACT:
                digits = scale if kind in EXACT else 0
                value = f"({column} = 'true' or {column} = '1')::int" if kind == "bit" and form == "csv" else column
                value = f"{column}::int" if kind == "bit" and form != "csv" else value
                parts.append(f"sum({value}::decimal(38, {digits}))::varchar")
                wanted.append(total)
        there = ["NULL" if value is None else str(value) for value in duckdb.sql(f"select {', '.join(parts)} from {source}").fetchall()[0]]
        if list(map(number_text, there)) != list(map(number_text, wanted)):
            found.append(f"{form} of {schema}.{table}: {[(a, b) for a, b in zip(wanted, there) if number_text(a) != number_text(b)]}")
    return found


def number_text(text):
    """A number without zeros behind its last digit, as both sides write it."""
    text = text.strip()
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = re.sub(r"^(-?)0*(?=\d)", r"\1", re.sub(r"^(-?)\.", r"\g<1>0.", text))
    return "0" if text in ("-0", "") else text


def has_parquet():
    """Whether the program writes Parquet files; one that does not says so before it looks for the server."""
    command = [PROGRAM, "export", "shop", "-S", "127.0.0.1,1", "--to", "nowhere", "--format", "parquet"]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True)
    return "--features history" not in done.stderr


def into_folder(source, folder, form, tables, of_source):
    """An export into a folder, read back; answers what differs."""
    try:
        import duckdb
    except ImportError:
        print(f"as {form}: skipped, the Python package duckdb is not installed")
        return []
    if form == "parquet" and not has_parquet():
        print(f"as {form}: skipped, {PROGRAM} is built without the feature history")
        return []
    room = folder / form
    room.mkdir()
    try:
        seconds = Export(source, room, "files", ["--format", form]).end()
        begin = time.monotonic()
        found = read_back(room / "files", form, tables, of_source)
        size = sum(path.stat().st_size for path in (room / "files").rglob("*") if path.is_file()) / 2**20
        print(
            f"as {form}: {size:.0f} MB in {seconds:.1f} s, counted and summed by DuckDB {duckdb.__version__} in {time.monotonic() - begin:.1f} s: "
            f"{len(found)} differences",
            flush=True,
        )
        return found
    finally:
        shutil.rmtree(room)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    megabytes = parser.parse_args().megabytes
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-export-", dir=os.environ.get("VLFLAB_DIR")))
    source = Server(folder / "source", "--sql-version", "2022")
    try:
        begin = time.monotonic()
        fill(source, megabytes)
        tables = columns_of(source)
        of_source = {**definitions_of(source), **sums_of(source, tables)}
        print(f"{number(source, USED_MB)} MB, {number(source, ROWS):,} rows in {len(tables)} tables, made in {time.monotonic() - begin:.0f} s", flush=True)
        found, next_values = [], {}
        for version in ["2012", "2022"]:
            differing, next_values[version] = into_server(source, folder, version, (of_source, tables))
            found += differing
        for form in ["csv", "parquet"]:
            found += into_folder(source, folder, form, tables, of_source)
        # At the end, because asking for a value takes it.
        of_source = asked(source, NEXT_VALUES)
        found += [f"as {version}, next values: {of_source} and {there}" for version, there in next_values.items() if there != of_source]
    finally:
        source.stop()
        shutil.rmtree(folder)
    for line in found:
        print(line)
    print("all equal" if not found else "NOT equal")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
