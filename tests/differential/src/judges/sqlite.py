"""SQLite behind a pipe: a line of JSON with scripts comes in, a line with their answers goes out."""

import json
import sqlite3
import sys

connection = sqlite3.connect(":memory:", isolation_level=None)
cursor = connection.cursor()


def cell(value):
    return value if value is None else str(value)


def answer_to(statement):
    cursor.execute(statement)
    rows = [[cell(value) for value in row] for row in cursor.fetchall()]
    is_query = cursor.description is not None and " returning " not in statement
    # What triggers change does not count.
    count = len(rows) if is_query else cursor.execute("select changes()").fetchone()[0]
    return {"rows": rows, "count": count}


def answer(script):
    cursor.execute("savepoint script")
    try:
        return [answer_to(statement) for statement in script][0]
    except sqlite3.Error as error:
        cursor.execute("rollback to script")
        failure = {"is_constraint": isinstance(error, sqlite3.IntegrityError), "text": str(error)}
        return {"rows": [], "count": None, "failure": failure}
    finally:
        cursor.execute("release script")


print(json.dumps(sqlite3.sqlite_version), flush=True)
for line in sys.stdin:
    print(json.dumps([answer(script) for script in json.loads(line)]), flush=True)
