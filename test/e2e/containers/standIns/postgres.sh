#!/bin/bash
# What PostgreSQL's own image does at its start: sets an empty volume up on its socket alone, then serves.
set -eu
if [ "$(id -u)" = 0 ]; then
  install --directory --owner=postgres --mode=700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username=postgres --pwfile=<(printf '%s' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 --auth-local=trust >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait --silent --options='-c listen_addresses=' start
  export POSTGRES_USER=postgres
  for script in /docker-entrypoint-initdb.d/*.sh; do "$script"; done
  pg_ctl --wait --silent --mode=fast stop
fi
exec postgres -c listen_addresses='*'
