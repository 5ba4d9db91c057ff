"""The examples of the T-SQL reference, run against the real server: which run, which are refused by name, which are syntax errors.

    python3 tests/foreign/reference.py FOLDER [--setup SCRIPT --allow-path DATA --set NAME=VALUE] [--seconds N] [--json FILE] [--list]

FOLDER holds pages of the documentation's sources (Markdown; the repository MicrosoftDocs/sql-docs, or one of its translations, whose code is
the same): none of them is part of this repository. The fenced blocks of `sql` are taken, not those of `syntaxsql`. Left out are pages that do
not apply to SQL Server, and parts for other products (`moniker`, tabs, headings).

Each page runs in a session and a database of its own: a copy of the database that --setup makes, such as AdventureWorks by its script, else an
empty one. A batch that is refused while it is parsed is run again from its next statement on, so that a refused statement does not hide what
stands behind it.

--setup     a script that makes the database which the examples are for (its data files: --allow-path, --set, as of `scripts.py`)
--seconds   how long a batch may take
--json      every batch that failed, a line for each
--list      the batches as they would run, none of which runs

The last line counts the parts of batches by their first error. Syntax errors are listed one by one; each is a defect, or a text that SQL
Server refuses as well, which belongs to EXCEPTIONS, with its reason. Exit code 1 if there is one. Where python-tds is missing, nothing is run (2).
"""

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from scripts import Script, Server, Session, run_script

SECONDS_FOR_A_BATCH = 10
# Errors of the parser: a statement of SQL Server's that gets one of these is a defect, whatever it asks for.
SYNTAX_ERRORS = {102, 103, 105, 141, 153, 155, 156, 157, 170, 178, 195, 319, 343, 1018, 1023, 1031, 1035, 1038}
UNSUPPORTED = 40517
# Errors that say that something is missing which an example names: its database has no such object, or the server has none.
MISSING = {207, 208, 911, 942, 1088, 2714, 2812, 3701, 4121, 4902, 15009, 15151, 15248}
# Words of headings and links behind which examples are for other products.
OTHER_PRODUCTS = re.compile(r"sspdw|sssdw|ssazuresynapse|synapse|PDW|Parallel Data Warehouse|Analytics Platform|SQL Data Warehouse|#tab/sqlpool|#tab/sqlod|fabric", re.I)
APPLIES = re.compile(r"INCLUDE *\[[^\]]*\]\([^)]*/(?:applies-to-version/([\w-]+)|tsql-appliesto-([\w-]+))\.md *\)", re.I)
HEADING = re.compile(r" *(#+) (.*)")
MONIKER = re.compile(r" *::: *moniker(-end| +range=\"([^\"]*)\")", re.I)
FENCE = re.compile(r"( *)```+ *(\w*)")
# Words that begin a statement wherever they begin a line, and those that do so behind a semicolon or an empty line.
STARTS = re.compile(r"(?:ALTER|BACKUP|BULK|CREATE|DBCC|DECLARE|DENY|DISABLE|ENABLE|GRANT|IF|MERGE|PRINT|RESTORE|REVOKE|TRUNCATE|USE|WHILE)\b", re.I)
FRESH_STARTS = re.compile(r"(?:ADD|BEGIN|CLOSE|DELETE|DROP|EXEC|EXECUTE|INSERT|OPEN|RECEIVE|SELECT|SEND|SET|UPDATE|WITH)\b", re.I)
# The database of a page; what the examples call AdventureWorks, of whatever year, is this one.
EXAMPLES = "AdventureWorks"
DATABASE_OF_EXAMPLES = re.compile(r"\bAdventureWorks(?:20\d\d|LT|DW)?(?:20\d\d)?(?:_20\d\d)?\b", re.I)
SECONDS_FOR_SETUP = 600
# Examples that SQL Server does not take either: the reason, and for each its page and a piece of its text.
EXCEPTIONS = {
    "a part of a statement": [
        ("dateadd-transact-sql.md", "DATEADD (datepart , number , date )"),
        ("rank-transact-sql.md", "RANK ( ) OVER"),
        ("coalesce-transact-sql.md", "CASE  \nWHEN (expression1"),
        ("contains-transact-sql.md", "CONTAINS(column_name, 'NEAR"),
        ("hints-transact-sql-table.md", "FROM t "),
        ("select-group-by-transact-sql.md", "..., a1"),
        ("hasm-geography-data-type.md", ".HasM"),
        ("instanceof-geography-data-type.md", ".InstanceOf"),
        ("alter-database-transact-sql-file-and-filegroup-options.md", "logical_file_name"),
        ("alter-index-transact-sql.md", "REBUILD WITH   \n("),
        ("alter-table-index-option-transact-sql.md", "REBUILD WITH"),
        ("create-index-transact-sql.md", "REBUILD WITH"),
        ("create-table-transact-sql.md", "DATA_COMPRESSION = NONE ON PARTITIONS (1)"),
        ("create-table-transact-sql.md", "SalesPersonID INT NULL REFERENCES"),
        ("create-table-transact-sql.md", "FOREIGN KEY (SalesPersonID)"),
        ("create-table-transact-sql.md", "CONSTRAINT FK_SpecialOfferProduct_SalesOrderDetail"),
        ("create-table-transact-sql.md", "Name NVARCHAR(100) NOT NULL"),
        ("create-table-transact-sql.md", "DEFAULT "),
        ("create-table-transact-sql.md", "CHECK (CreditRating"),
        ("create-table-transact-sql.md", "CONSTRAINT CK_emp_id CHECK"),
        ("create-table-transact-sql.md", "CHECK (\n"),
        ("nodes-method-xml-data-type.md", "T (ProductModelID INT, Instructions XML)"),
        ("getancestor-database-engine.md", "this.GetAncestor(1)"),
        ("getdescendant-database-engine.md", "SqlHierarchyId.GetRoot()"),
        ("getlevel-database-engine.md", "this.GetLevel()"),
        ("getreparentedvalue-database-engine.md", "this. GetReparentedValue"),
        ("getroot-database-engine.md", "SqlHierarchyId.GetRoot()"),
        ("isdescendantof-database-engine.md", "this.IsDescendantOf"),
        ("tostring-database-engine.md", "this.ToString()"),
        ("parse-database-engine.md", "hierarchyid::Parse ( input )"),
    ],
    "Azure Synapse Analytics'": [
        ("insert-transact-sql.md", "LABEL ="),
    ],
    "a syntax, not an example": [
        ("dbcc-freeproccache-transact-sql.md", "DBCC FREEPROCCACHE ["),
        ("dbcc-proccache-transact-sql.md", "DBCC PROCCACHE ["),
    ],
    "a placeholder in the place of code": [
        ("rowversion-transact-sql.md", "<my"),
        ("dbcc-checkconstraints-transact-sql.md", "<columns>"),
        ("isjson-transact-sql.md", "<data type>"),
        ("isjson-transact-sql.md", "<value>"),
        ("alter-table-transact-sql.md", "<table_name>"),
        ("begin-dialog-conversation-transact-sql.md", "<retrieve"),
        ("begin-transaction-transact-sql.md", "..."),
        ("expressions-transact-sql.md", "..."),
        ("table-value-constructor-transact-sql.md", "..., (5000)"),
        ("drop-xml-schema-collection-transact-sql.md", "..."),
        ("end-conversation-transact-sql.md", "<receive"),
        ("execute-as-transact-sql.md", "<value from"),
        ("revert-transact-sql.md", "<value from"),
        ("move-conversation-transact-sql.md", "<retrieve"),
        ("receive-transact-sql.md", "<retrieve"),
        ("send-transact-sql.md", "< construct"),
        ("create-external-library-transact-sql.md", "to user"),
        ("create-external-table-transact-sql.md", "FROM user "),
    ],
    "an output that is marked as code": [
        ("data-type-conversion-database-engine.md", "$157.27"),
        ("datetimeoffset-transact-sql.md", "@datetime2"),
        ("decimal-and-numeric-transact-sql.md", "123.00  "),
        ("int-bigint-smallint-and-tinyint-transact-sql.md", "1073741823   "),
        ("time-transact-sql.md", "@smalldatetime"),
        ("tostring-database-engine.md", "C:\\"),
        ("tostring-database-engine.md", "0x  "),
        ("dbcc-dllname-free-transact-sql.md", "execution completed"),
        ("dbcc-dbreindex-transact-sql.md", "execution completed"),
        ("dbcc-traceoff-transact-sql.md", "execution completed"),
        ("dbcc-traceon-transact-sql.md", "execution completed"),
        ("kill-transact-sql.md", "spid 54:"),
        ("alter-database-transact-sql-compatibility-level.md", "12 May 2011"),
        ("alter-database-transact-sql-compatibility-level.md", "TimeStyle0  "),
    ],
    "wrong on purpose, as the page says": [
        ("sql-server-utilities-statements-go.md", "sp_who"),
        ("slash-star-comment-transact-sql.md", "/*"),
        ("string-concatenation-equal-transact-sql.md", "'Adventure' += 'Works'"),
        ("datename-transact-sql.md", "DATENAME(datepart,"),
        ("set-quoted-identifier-transact-sql.md", "CREATE TABLE \"select\""),
    ],
    "sqlcmd's and the shell's, not the server's": [
        ("sql-server-utilities-statements-backslash.md", "\\\n"),
    ],
    "not what SQL Server's grammar takes: a comma, quotation mark, semicolon, name or parenthesis is missing or too many, or a word is reserved": [
        ("set-operators-union-transact-sql.md", "UNION"),
        ("subtract-transact-sql.md", "''January"),
        ("alter-database-transact-sql-set-options.md", "SET RECOVERY FULL PAGE_VERIFY"),
        ("alter-database-transact-sql-set-options.md", "WAIT_STATS_CAPTURE_MODE = ON,\n    );"),
        ("alter-index-selective-xml-indexes.md", "PAD_INDEX"),
        ("alter-xml-schema-collection-transact-sql.md", "CREATE XML SCHEMA COLLECTION AS"),
        ("alter-xml-schema-collection-transact-sql.md", "ADD '"),
        ("create-columnstore-index-transact-sql.md", "DROP EXISTING"),
        ("create-columnstore-index-transact-sql.md", "DROP_EXISTING"),
        ("create-columnstore-index-transact-sql.md", "CREATE TABLE MyFactTable ("),
        ("create-index-transact-sql.md", "WHERE StartDate >"),
        ("create-table-transact-sql.md", "1, 1"),
        ("alter-xml-schema-collection-transact-sql.md", "....</xsd:schema>"),
        ("create-credential-transact-sql.md", "@PWD"),
        ("create-endpoint-transact-sql.md", "ENDPOINT::ipv6_endpoint_special"),
        ("create-external-library-transact-sql.md", "library(packageA)"),
        ("restore-statements-transact-sql.md", "NORECOVERY;"),
        ("restore-statements-transact-sql.md", "RECOVERY;"),
        ("set-noexec-transact-sql.md", "dbo.Values"),
        ("xml-data-type-methods.md", "FROM Table"),
        ("delete-xml-dml.md", "SET Instructions"),
        ("table-value-constructor-transact-sql.md", "(SELECT Name, ListPrice FROM Production.Product WHERE ProductID = 720)"),
    ],
    "the rest of a module that is refused, or a module that is not alone in its batch: GO is missing": [
        ("add-signature-transact-sql.md", "END;"),
        ("create-procedure-transact-sql.md", "END"),
        ("create-trigger-transact-sql.md", "END;"),
        ("isjson-transact-sql.md", "END"),
        ("merge-transact-sql.md", "END"),
        ("add-signature-transact-sql.md", "CREATE PROCEDURE"),
        ("create-procedure-transact-sql.md", "ALTER PROCEDURE Production.uspDeleteWorkOrder"),
    ],
}


def applies(text):
    """Whether a page is about SQL Server, by the mark at its head; a page without a mark is."""
    mark = APPLIES.search(text)
    if mark is None:
        return True
    name = (mark.group(1) or mark.group(2)).lower()
    return name.startswith(("sql", "ss"))


class Page:
    """The examples of a page, in order: line of the page, text."""

    def __init__(self, text):
        self.examples = []
        self.foreign_level, self.moniker, self.fence = 0, "", None
        if applies(text):
            for number, line in enumerate(text.splitlines(), 1):
                self.line(number, line)

    def line(self, number, line):
        fence = FENCE.match(line.rstrip())
        if self.fence is not None:
            self.inside(line, fence)
        elif fence:
            self.fence = (number + 1, fence.group(2).lower(), len(fence.group(1)), [])
        elif heading := HEADING.match(line):
            self.heading(len(heading.group(1)), heading.group(2))
        elif moniker := MONIKER.match(line):
            self.moniker = moniker.group(2) or ""

    def heading(self, level, text):
        if not self.foreign_level or level <= self.foreign_level:
            self.foreign_level = level if OTHER_PRODUCTS.search(text) and "SQL Server" not in text else 0

    def inside(self, line, fence):
        first, language, indent, lines = self.fence
        if fence is None or fence.group(2):
            lines.append(line[indent:] if not line[:indent].strip() else line)
            return
        self.fence = None
        is_other = self.foreign_level or (self.moniker and "sql-server" not in self.moniker)
        if language in ("sql", "tsql") and not is_other:
            self.examples.append((first, "\n".join(lines) + "\n"))


def is_excepted(page, text):
    name = page.rpartition("/")[2]
    return any(name == of and piece in text for pieces in EXCEPTIONS.values() for of, piece in pieces)


def pages_of(folder):
    """The pages below a folder that have examples: name, batches (line of the page, text)."""
    for path in sorted(Path(folder).rglob("*.md")):
        name = str(path.relative_to(folder))
        batches = []
        for first, text in Page(path.read_text(encoding="utf-8-sig", errors="replace")).examples:
            script = Script.of_text(text)
            batches += [(first + line - 1, batch) for line, batch in script.batches]
        if batches:
            yield name, batches


def rest_of(batch, line):
    """What stands behind the statement that was refused at `line`: from the next line on that begins a statement; None if none does."""
    lines = batch.splitlines(keepends=True)
    for number in range(max(line, 1), len(lines)):
        before = lines[number - 1].rstrip()
        if STARTS.match(lines[number]) or (before.endswith(";") or not before) and FRESH_STARTS.match(lines[number]):
            return number, "".join(lines[number:])
    return None


class Examples(Session):
    """A session that goes on in master where an example has taken its database away, and whose batches end, whatever rows they send."""

    def open(self, database):
        try:
            super().open(database)
        except self.module.Error:
            super().open("master")
        self.cursor.execute("select @@spid")
        (self.number,) = self.cursor.fetchone()

    def run(self, batch, database):
        # The client's own limit is that of a single wait.
        watch = threading.Timer(2 * self.seconds, self.kill)
        watch.start()
        try:
            return super().run(batch, database)
        finally:
            watch.cancel()

    def kill(self):
        Session(self.server, "master", self.seconds).run(f"kill {self.number}", "master")


class Walk:
    """Runs pages and keeps the result of each part of a batch: page, line, number (0: it ran), message, text."""

    def __init__(self, server, original, seconds):
        self.server, self.original, self.seconds = server, original, seconds
        self.results = []

    def page(self, name, batches):
        house = Session(self.server, "master", self.seconds)
        house.run(f"create database [{EXAMPLES}]" + (f" as copy of [{self.original}]" if self.original else ""), "master")
        session = Examples(self.server, EXAMPLES, self.seconds)
        for line, batch in batches:
            self.batch(session, name, line, re.sub(DATABASE_OF_EXAMPLES, EXAMPLES, batch))
        session.connection.close()
        self.clear(house)

    def batch(self, session, name, line, batch):
        while True:
            try:
                errors = session.run(batch, EXAMPLES)
            except UnicodeDecodeError:
                # The example makes text of bytes that its code page does not have; it ran, and python-tds gives up.
                errors = []
                session.open(EXAMPLES)
            number, message, at, _ = errors[0] if errors else (0, "", 0, "")
            self.results.append((name, line, number, message, batch))
            rest = rest_of(batch, at) if number == UNSUPPORTED or number in SYNTAX_ERRORS else None
            if rest is None:
                return
            line, batch = line + rest[0], rest[1]

    def clear(self, house):
        """Drops every database but the server's and the original, and what fires behind the statements of other pages."""
        for triggers, place in (("sys.server_triggers", "all server"), ("sys.triggers where parent_class = 0", "database")):
            house.cursor.execute(f"select name from {triggers}")
            for (name,) in house.cursor.fetchall():
                house.run(f"drop trigger [{name}] on {place}", "master")
        house.cursor.execute("select name from sys.databases where database_id > 4")
        for (name,) in house.cursor.fetchall():
            if name != self.original:
                house.run(f"alter database [{name}] set single_user with rollback immediate; drop database [{name}]", "master")
        house.connection.close()


def printed(results):
    counts = Counter()
    for name, _, number, _, text in results:
        kind = "missing" if number in MISSING else "other"
        if number in SYNTAX_ERRORS:
            kind = "excepted" if is_excepted(name, text) else "syntax"
        counts.update([{0: "ran", UNSUPPORTED: "40517"}.get(number, kind)])
    for name, line, number, message, text in results:
        if number in SYNTAX_ERRORS and not is_excepted(name, text):
            print(f"{name}:{line}: {number} {message}\n    " + text.strip()[:300].replace("\n", "\n    "))
    by_number = Counter(number for *_, number, _, _ in results if number)
    print(" ".join(f"{number}:{count}" for number, count in by_number.most_common(60)))
    print(f"{len(results)} parts of batches: " + ", ".join(f"{counts[kind]} {kind}" for kind in ("ran", "40517", "missing", "other", "excepted", "syntax")))
    return counts["syntax"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--setup")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--allow-path", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=SECONDS_FOR_A_BATCH)
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def original(server, options):
    """The database that the setup script makes, None without one."""
    if options.setup is None:
        return None
    variables = {name.lower(): value for name, value in (part.split("=", 1) for part in options.set)}
    session = Session(server, "master", SECONDS_FOR_SETUP)
    run_script(session, Script(Path(options.setup), variables), "master", False)
    session.cursor.execute("select max(name) from sys.databases where database_id > 4")
    (name,) = session.cursor.fetchone()
    session.connection.close()
    return name


def main():
    options = arguments()
    pages = list(pages_of(options.folder))
    if options.list:
        for name, batches in pages:
            for line, batch in batches:
                print(f"-- {name}:{line}\n{batch}\nGO")
        return 0
    try:
        import pytds  # noqa: F401
    except ImportError:
        print("skip the reference: python-tds is not installed")
        return 2
    allowed = [part for folder in options.allow_path for part in ("--allow-path", folder)]
    with Server(options=allowed) as server:
        walk = Walk(server, original(server, options), options.seconds)
        for name, batches in pages:
            began = time.monotonic()
            walk.page(name, batches)
            print(f"{time.monotonic() - began:6.1f} s {name}", file=sys.stderr, flush=True)
            assert server.is_up(), f"the server has ended at {name}"
    syntax = printed(walk.results)
    if options.json:
        with open(options.json, "w") as out:
            for name, line, number, message, text in walk.results:
                out.write(json.dumps({"page": name, "line": line, "number": number, "message": message, "batch": text}) + "\n")
    return 1 if syntax else 0


if __name__ == "__main__":
    sys.exit(main())
