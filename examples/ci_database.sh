#!/usr/bin/env bash
# A T-SQL database for the tests of a program: a server is started on a free port, asked, and stopped, whatever happens.
#
#   examples/ci_database.sh                  some statements; VLFLAB names the program (default: vlflab on the PATH)
#   examples/ci_database.sh COMMAND ...      a command, with DATABASE_HOST, DATABASE_PORT and SQLCMDPASSWORD in its environment
set -euo pipefail
vlflab=${VLFLAB:-vlflab}
folder=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; fi
    rm -rf "$folder"
}
trap stop EXIT

# A password of its own for each run. Port 0 is a free one; the line that begins with "ready" says which.
export SQLCMDPASSWORD="Ci_1_$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
"$vlflab" serve --data "$folder/data" --port 0 --sa-password "$SQLCMDPASSWORD" >"$folder/ready" 2>"$folder/log" &
server=$!
for _ in $(seq 600); do
    grep -q '^ready:' "$folder/ready" && break
    kill -0 "$server" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
address=$(sed -n 's/^ready: Server=\([^;]*\);.*/\1/p' "$folder/ready")
[ -n "$address" ] || { echo "the server was not ready within a minute" >&2; exit 1; }

if [ $# -gt 0 ]; then
    DATABASE_HOST=${address%,*} DATABASE_PORT=${address#*,} "$@"
    exit
fi
# Without a command these statements stand in for the tests of a program.
answer=$("$vlflab" sql -S "$address" -U sa -C -b -h -1 -W -Q "
set nocount on
create database shop
create table shop.dbo.orders (id int not null primary key, amount money not null)
begin transaction
insert shop.dbo.orders values (1, 10), (2, 32)
commit
select sum(amount) from shop.dbo.orders")
[ "$answer" = 42.0000 ] || { echo "asked for 42.0000, got: $answer" >&2; exit 1; }
echo "the database answers at $address: $answer"
