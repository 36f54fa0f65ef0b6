#!/bin/sh
# Run a command with DATABASE_URL set to a PostgreSQL that is made for it and gone afterwards, whatever happens.
# Usage: sh tools/with-postgres.sh COMMAND…
# Without PostgreSQL the command is not run: that is a failure in CI, and a notice elsewhere.
set -eu
[ $# -gt 0 ] || { echo "usage: sh tools/with-postgres.sh COMMAND..." >&2; exit 2; }

bin=
for folder in $(command -v initdb 2>/dev/null | xargs -r dirname) /usr/lib/postgresql/*/bin; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && [ -x "$folder/pg_ctl" ]; then bin=$folder; fi
done
if [ -z "$bin" ]; then
    echo "There is no PostgreSQL here, so nothing was run with it (Debian: apt-get install postgresql)." >&2
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/isocenter-pg.XXXXXX")
# PostgreSQL refuses to be root.
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as() { (cd "$folder" && runuser -u postgres -- "$@"); }
else
    as() { "$@"; }
fi
finish() {
    as "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

as "$bin/initdb" -D "$folder/data" -U isocenter --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null
# Only through a socket in the folder, so there is no port to be taken; nothing is kept, so nothing is flushed.
if ! as "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w start >/dev/null \
    -o "-c listen_addresses= -c unix_socket_directories=$folder -c unix_socket_permissions=0777 -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"
then
    cat "$folder/log" >&2
    exit 1
fi
chmod 755 "$folder"
as "$bin/psql" -q -h "$folder" -U isocenter -d postgres -c 'CREATE DATABASE isocenter' >/dev/null
DATABASE_URL="postgres://isocenter@/isocenter?host=$folder" "$@"
