#!/usr/bin/env bash
# Makes the files of this folder: instances and backups as the last release of format 2 leaves them.
#
#   make.sh <vlflab of format 2>          (any build before "format 3": boot records of 168 bytes, backup sets of format 3)
#
# stopped.zst   an instance stopped in order, with the databases `old` and `mixed`
# killed.zst    the same kind of instance, killed in the middle of a transaction that creates a table
# full.zst      an instance stopped in order, with the database `filled`, whose data file has no room left
# media.zst     old.bak: a full backup and two log backups of `old`, the tail of its log in the second
#
# A file is a run of entries "path, a newline, length in decimal, a newline, bytes", compressed with zstd. What each database
# holds is in old.sql, mixed.sql and full.sql, and is what the tests look for.
set -euo pipefail
vlflab=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pack() { # pack TARGET FOLDER
    (cd "$2" && find . -type f ! -name .lock | LC_ALL=C sort | while read -r file; do
        printf '%s\n%s\n' "${file#./}" "$(stat -c %s "$file")"
        cat "$file"
    done) | zstd -19 -q -f -o "$here/$1"
}

# One start for all scripts: after another, format 2 would give the ids of dropped tables again.
run() {
    local folder=$1 arguments=()
    shift
    for script; do arguments+=(-i "$here/$script"); done
    "$vlflab" sql --data "$work/$folder" --sql-version 2012 -b "${arguments[@]}" > "$work/out" || { cat "$work/out"; exit 1; }
}

run stopped old.sql backup.sql mixed.sql
mkdir "$work/media"
find "$work/stopped" -name 'old.bak' -exec mv {} "$work/media/" \;
pack media.zst "$work/media"
pack stopped.zst "$work/stopped"

run full full.sql
pack full.zst "$work/full"

"$vlflab" sql --data "$work/killed" --sql-version 2012 -b -i "$here/old.sql" -i "$here/unfinished.sql" > "$work/out" &
process=$!
until grep -q unfinished "$work/out"; do sleep 0.1; done
kill -9 $process
wait $process || true
pack killed.zst "$work/killed"
ls -l "$here"
