#!/usr/bin/env python3
"""A program that uses `vlflab serve` as any SQL Server: connect, make a table, use a transaction, count the VLFs.

    pip install python-tds
    vlflab serve --port 1433 --sa-password PASSWORD
    examples/vlf_count.py 127.0.0.1 1433 PASSWORD
"""

import sys

import pytds

ROWS = 2_000


def main(host, port, password):
    with pytds.connect(host, "master", "sa", password, port=int(port), autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("drop database if exists vlf_count")
        cursor.execute("create database vlf_count")
        cursor.execute("alter database vlf_count modify file (name = vlf_count_log, filegrowth = 1MB)")
        cursor.execute("create table vlf_count.dbo.readings (id int not null primary key, filler char(4000) not null)")
        before = vlfs(cursor)
        # One transaction: the log cannot be used again before its end, so it grows.
        cursor.execute("begin transaction")
        for number in range(ROWS):
            cursor.execute("insert vlf_count.dbo.readings values (%s, 'reading')", (number,))
        cursor.execute("commit")
        cursor.execute("select count(*) from vlf_count.dbo.readings")
        rows = cursor.fetchone()[0]
        after = vlfs(cursor)
        cursor.execute("drop database vlf_count")
    print(f"{rows} rows; {before} VLFs before them, {after} after")
    return 0 if rows == ROWS and after >= before else 1


def vlfs(cursor):
    cursor.execute("select count(*) from sys.dm_db_log_info(db_id('vlf_count'))")
    return cursor.fetchone()[0]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
