"""PostgreSQL's side of the restart: the same updates until its log has the same volume, `pg_ctl stop -m immediate`, start.

Rows are stored plain, since compressed runs of one letter would make no log. Checkpoints are pushed out by max_wal_size
and checkpoint_timeout, so that all of the log is replayed.
"""

import re
import subprocess
import time

from .bench import GB

CREATE = """create table page_writer (id int not null primary key, update_count int not null, payload char(8000) not null);
alter table page_writer alter payload set storage plain;
create table held (id int not null);
insert into page_writer select i, 0, 'i' from generate_series(1, {rows}) i;
checkpoint;
create procedure fill(log_bytes bigint) language plpgsql as $$
declare
    n int := 0;
    begun pg_lsn := pg_current_wal_insert_lsn();
    odd char(8000) := repeat('o', 8000);
    even char(8000) := repeat('e', 8000);
begin
    while pg_current_wal_insert_lsn() - begun < log_bytes loop
        for i in 1..100 loop
            n := n + 1;
            update page_writer set update_count = n, payload = case when n / {rows} % 2 = 0 then odd else even end
                where id = 1 + n::bigint * 7 % {rows};
        end loop;
        commit;
    end loop;
end $$;"""
HOLD = "begin;\ninsert into held values (1);\n"
START_SECONDS_MAX = 300


def pg_ctl(peer, *arguments):
    peer.as_postgres(peer.programs / "pg_ctl", "-D", peer.folder / "data", "-l", peer.folder / "log", *arguments)


def crash(bench, peer, log_bytes, rows):
    """Fills the log beside an open transaction and stops as a crash would: bytes of log."""
    peer.run(CREATE.format(rows=rows))
    command = [str(part) for part in (*peer.client("psql"), "-d", "postgres", "-q")]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    client.stdin.write(HOLD)
    client.stdin.flush()
    begun = peer.run("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    begin = time.monotonic()
    peer.run(f"call fill({log_bytes})")
    wal_bytes = int(peer.run("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")) - int(begun)
    bench.progress(f"PostgreSQL: {wal_bytes / GB:.2f} GB of log in {time.monotonic() - begin:.1f} s")
    pg_ctl(peer, "-m", "immediate", "-w", "stop")
    client.kill()
    client.wait()
    return wal_bytes


def restart(peer, rows):
    """Seconds of redo by its own log, and to the first query."""
    begin = time.monotonic()
    pg_ctl(peer, "-W", "start")
    while True:
        try:
            found = int(peer.run("select count(*) from page_writer where id = 1"))
            break
        except RuntimeError:
            if time.monotonic() - begin > START_SECONDS_MAX:
                raise
            time.sleep(0.02)
    first = time.monotonic() - begin
    counted = int(peer.run("select count(*) from page_writer"))
    if (found, counted) != (1, rows):
        raise RuntimeError(f"PostgreSQL has {counted} rows after recovery")
    redo = re.findall(r"redo done at .* elapsed: ([0-9.]+) s", (peer.folder / "log").read_text())
    return float(redo[-1]), first


def measure(bench, found, peer, log_bytes, rows, from_image):
    peer.start()
    image = peer.folder.with_name("image")
    bench.progress(f"PostgreSQL: filling {log_bytes / GB:.1f} GB of log")
    try:
        found.facts["postgresql_wal_bytes"] = crash(bench, peer, log_bytes, rows)
    except BaseException:
        pg_ctl(peer, "-m", "immediate", "-w", "stop")
        raise
    peer.folder.rename(image)
    # Its runs are long, and the first is like the third.
    for turn in range(min(bench.runs, 3)):
        from_image(image, peer.folder)
        try:
            redo, first = restart(peer, rows)
        finally:
            pg_ctl(peer, "-m", "immediate", "-w", "stop")
        found.add("postgresql redo s", redo)
        found.add("postgresql first query s", first)
        bench.progress(f"PostgreSQL, run {turn + 1}: redo {redo:.2f} s, first query {first:.2f} s")
