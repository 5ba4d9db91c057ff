"""Foreign T-SQL scripts run against the real server: how many batches ran, how many failed, and which feature each failure needs.

    python3 tests/foreign/scripts.py PATH ... [--database NAME] [--each] [--retry] [--set NAME=VALUE] [--version 2022] [--rows]
        [--allow-path FOLDER] [--seconds N] [--json FILE]

PATH is a script, or a folder whose `.sql` files run in the order of their names. They are run as they are, by python-tds, cut at GO as
`sqlcmd` cuts them: GO in a text, a name or a comment is none, and `:setvar`, `:r`, `:on error` and `$(name)` are sqlcmd's. A batch failed if the
server sent an error of severity 11 or more, or if it had to be stopped.

--each      each script in a database of its own, else all in one session, as in a window of a query editor
--retry     batches that failed are run again, in order, as long as one more of them runs: files of a project in any order
--rows      the number of rows of each table of the database in which the last script ended
--allow-path  a folder whose files the scripts may read
--seconds   how long a batch may take
--json      what failed: a line for each failed batch

The table has a line for each script, and then one for each error, the most frequent first. Errors 102, 156 and 170 are marked: a statement of
SQL Server's that is a syntax error here is a defect. Where python-tds is missing, nothing is run (exit code 2).
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients"))
from harness import PASSWORD, Server  # noqa: E402

SECONDS_FOR_A_BATCH = 120
# The highest severity of messages that are no errors.
INFORMATION_SEVERITY_MAX = 10
# How often a batch is repeated at most, whatever stands behind its GO.
TIMES_MAX = 100
# The lowest severity of errors that end the connection.
FATAL_SEVERITY_MIN = 20
# Errors of the parser: a statement of SQL Server's that gets one of these is a defect, whatever it asks for.
SYNTAX_ERRORS = {102, 105, 156, 170, 319, 343, 178, 1018}
# The error for what the server does not have; its text names the word.
UNSUPPORTED = 40517
# What the parser of batches has to tell apart, in this order.
PIECES = re.compile(r"--[^\n]*|/\*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[(?:[^\]]|\]\])*\]|\n|[^-/'\"\[\n]+|.", re.S)
GO = re.compile(r"[ \t]*GO(?:[ \t]+(\d+))?[ \t]*;?[ \t]*(?:--.*)?\r?$", re.I)


def text_of(path):
    """The text of a script in UTF-8, UTF-16, or else Windows' code page 1252."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def comment_end(text, start):
    """Where the block comment ends that begins at `start`; comments nest."""
    depth, at = 0, start
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark.group() == "/*" else -1
        at = start + mark.end()
        if depth == 0:
            return at
    return len(text)


def outer_lines(text):
    """The script's lines; a line that ends in a text, a name or a block comment is one with the next. With the line's number."""
    at, begin, number, first = 0, 0, 1, 1
    while at < len(text):
        piece = PIECES.match(text, at)
        end = comment_end(text, at) if piece.group() == "/*" else piece.end()
        number += text.count("\n", at, end)
        at = end
        if piece.group() == "\n":
            yield first, text[begin:at]
            begin, first = at, number
    if begin < len(text):
        yield first, text[begin:]


class UnknownCommand(Exception):
    """A script of sqlcmd's that asks for more than these read; it is one batch that failed."""


class Script:
    """A script of sqlcmd's: batches with variables replaced, and what follows from its commands."""

    def __init__(self, path, variables):
        self.variables = variables
        self.batches = []
        self.pending, self.first = [], None
        if path is not None:
            self.read(path, text_of(path))
            self.end_batch(1)

    @classmethod
    def of_text(cls, text):
        """The script of a text that is in no file."""
        script = cls(None, {})
        script.read(Path("."), text)
        script.end_batch(1)
        return script

    def read(self, path, text):
        for number, line in outer_lines(text):
            command = re.match(r"[ \t]*:(\w+)[ \t]*(.*?)[ \t]*\r?\n?$", line)
            go = GO.match(line.rstrip("\n"))
            if command:
                self.command(path, command.group(1).lower(), command.group(2))
            elif go:
                self.end_batch(int(go.group(1) or 1))
            else:
                self.first = number if self.first is None else self.first
                self.pending.append(line)

    def command(self, path, word, rest):
        if word == "setvar":
            name, _, value = rest.partition(" ")
            self.variables.setdefault(name.lower(), value.strip().strip('"'))
        elif word == "r":
            place = self.replaced(rest.strip('"')).replace("\\", "/")
            included = (path.parent / place).resolve()
            self.read(included, text_of(included))
        elif word != "on":
            raise UnknownCommand(f"sqlcmd's command :{word}")

    def replaced(self, text):
        return re.sub(r"\$\((\w+)\)", lambda name: self.variables.get(name.group(1).lower(), name.group()), text)

    def end_batch(self, times):
        text = "".join(self.pending)
        times = min(times, TIMES_MAX)
        if re.sub(r"(?s)/\*.*?\*/|--[^\n]*", "", text).strip(" \t\r\n;"):
            self.batches += [(self.first, self.replaced(text))] * times
        self.pending, self.first = [], None


class Session:
    """A connection that reads every message of a batch, also those behind an error."""

    def __init__(self, server, database, seconds):
        import pytds

        self.module, self.server, self.seconds = pytds, server, seconds
        self.open(database)

    def open(self, database):
        login = {"dsn": "127.0.0.1", "port": self.server.port, "user": "sa", "password": PASSWORD}
        self.connection = self.module.connect(**login, database=database, autocommit=True, timeout=self.seconds)
        self.cursor = self.connection.cursor()

    def run(self, batch, database):
        """The errors of a batch: number, text, line, procedure."""
        lost, messages = None, []
        try:
            self.cursor.execute(batch)
        except (self.module.Error, OSError) as failure:
            lost = self.lost(failure)
        messages += self.cursor._session.messages
        while lost is None:
            try:
                if not self.cursor.nextset():
                    break
            except (self.module.Error, OSError) as failure:
                lost = self.lost(failure)
        messages = self.cursor._session.messages or messages
        errors = [
            (one["msgno"], one["message"], one["line_number"], one["proc_name"])
            for one in messages
            if one["severity"] > INFORMATION_SEVERITY_MAX
        ]
        if lost is not None:
            errors = errors or [(0, lost, 0, "")]
            self.open(database)
        return errors

    def lost(self, failure):
        """The reason why the connection is of no more use, or None after an error that the server has answered with."""
        if getattr(failure, "number", 0) and getattr(failure, "severity", 0) < FATAL_SEVERITY_MIN:
            return None
        return " ".join(f"{type(failure).__name__} {failure}".split())[:300]


def feature(number, text):
    """What an error asks for, without what is particular to one object."""
    if number in SYNTAX_ERRORS or number in (UNSUPPORTED, 195, 208, 207, 2812, 4121, 15151):
        names = re.findall(r"'((?:[^']|'')*)'", text)
        if names:
            return ", ".join(names[:2])
    return re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "'...'", re.sub(r"\d{3,}", "N", text))[:110]


def run_script(session, script, database, retry):
    """Runs the batches and gives those that failed: line of the script, errors."""
    left = [(line, batch, None) for line, batch in script.batches]
    while True:
        failed = []
        for line, batch, _ in left:
            errors = session.run(batch, database)
            if errors:
                failed.append((line, batch, errors))
        if not retry or not failed or len(failed) == len(left):
            return failed
        left = failed


def scripts_of(paths):
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.sql")) if path.is_dir() else [path]


def joined(scripts):
    """Several scripts as one, for batches that wait for those of another."""
    whole = scripts[0]
    whole.batches = [batch for script in scripts for batch in script.batches]
    return whole


def rows_of_tables(session):
    query = """select s.name + '.' + t.name, sum(p.rows) from sys.tables t join sys.schemas s on s.schema_id = t.schema_id
        join sys.partitions p on p.object_id = t.object_id and p.index_id in (0, 1) group by s.name, t.name order by 1"""
    session.cursor.execute(query)
    return session.cursor.fetchall()


def printed(results, counts, rows):
    print(f"\n{'script':<70} {'batches':>8} {'failed':>7}")
    for name, total, failed in results:
        print(f"{name[-70:]:<70} {total:>8} {len(failed):>7}")
    print(f"{'all':<70} {sum(total for _, total, _ in results):>8} {sum(len(failed) for *_, failed in results):>7}\n")
    for (number, what), count in counts.most_common():
        print(f"{count:>5} {number:>6} {'DEFECT? ' if number in SYNTAX_ERRORS else ''}{what}")
    for table, count in rows:
        print(f"{count:>10} {table}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--database", default="master")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--version", default="2022")
    parser.add_argument("--allow-path", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=SECONDS_FOR_A_BATCH)
    parser.add_argument("--json")
    return parser.parse_args()


def run_all(server, options):
    """Runs every script. Gives name, batches and failures of each, and the rows of the tables at the end."""
    variables = dict(part.split("=", 1) for part in options.set)
    variables = {name.lower(): value for name, value in variables.items()}
    session, results = Session(server, "master", options.seconds), []
    if options.database != "master":
        session.run(f"if db_id('{options.database}') is null create database [{options.database}]", "master")
        session.run(f"use [{options.database}]", "master")
    paths = list(scripts_of(options.paths))
    if options.retry:
        script = joined([Script(path, variables) for path in paths])
        return [(f"{len(paths)} scripts", len(script.batches), run_script(session, script, options.database, True))], rows_of_tables(session)
    for number, path in enumerate(paths):
        database = options.database
        if options.each:
            database = f"each{number}"
            Session(server, "master", options.seconds).run(f"create database {database}", "master")
            session = Session(server, database, options.seconds)
        try:
            script = Script(path, dict(variables))
        except UnknownCommand as reason:
            results.append((path.name, 1, [(1, "", [(0, str(reason), 1, "")])]))
            continue
        results.append((path.name, len(script.batches), run_script(session, script, database, False)))
        assert server.is_up(), f"the server has ended at {path}"
    return results, rows_of_tables(session) if options.rows else []


def main():
    options = arguments()
    try:
        import pytds  # noqa: F401
    except ImportError:
        print("skip foreign scripts: python-tds is not installed")
        return 2
    allowed = [part for folder in options.allow_path for part in ("--allow-path", folder)]
    with Server(sql_version=options.version, options=allowed) as server:
        results, rows = run_all(server, options)
    counts = Counter()
    for *_, failed in results:
        for _, _, errors in failed:
            counts.update({(number, feature(number, text)) for number, text, *_ in errors})
    printed(results, counts, rows if options.rows else [])
    if options.json:
        with open(options.json, "w") as out:
            for name, _, failed in results:
                for line, batch, errors in failed:
                    out.write(json.dumps({"script": name, "line": line, "errors": errors, "batch": batch}) + "\n")
    return 1 if any(failed for *_, failed in results) else 0


if __name__ == "__main__":
    sys.exit(main())
