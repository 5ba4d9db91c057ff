#!/usr/bin/env bash
# Makes the files of this folder: instances and backups of format 3 in which no row was deleted and no column lies outside of its row.
#
#   make.sh <vlflab>          (a build that does not know the feature bit 134217728)
#
# stopped.zst   an instance stopped in order, with the database `kept`
# killed.zst    the same kind of instance, killed in the middle of a transaction
# media.zst     kept.bak: a full backup and two log backups of `kept`
#
# A file is a run of entries "path, a newline, length in decimal, a newline, bytes", compressed with zstd.
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

"$vlflab" sql --data "$work/stopped" --sql-version 2022 -b -i "$here/kept.sql" -i "$here/backup.sql" > "$work/out" || { cat "$work/out"; exit 1; }
mkdir "$work/media"
find "$work/stopped" -name 'kept.bak' -exec mv {} "$work/media/" \;
pack media.zst "$work/media"
pack stopped.zst "$work/stopped"

"$vlflab" sql --data "$work/killed" --sql-version 2022 -b -i "$here/kept.sql" -i "$here/unfinished.sql" > "$work/out" &
process=$!
until grep -q unfinished "$work/out"; do sleep 0.1; done
kill -9 $process
wait $process || true
pack killed.zst "$work/killed"
ls -l "$here"
