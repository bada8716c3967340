#!/bin/sh
# Gives Temporal and the platform a role and databases of their own. PostgreSQL's image runs this once, on an empty
# volume. Neither role is a superuser, and neither can connect to the other's databases.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username postgres --dbname postgres \
  --set "temporal=$TEMPORAL_DB_PASSWORD" --set "platform=$PLATFORM_DB_PASSWORD" <<'SQL'
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
-- It creates a role for each deployment.
CREATE ROLE slipway LOGIN CREATEROLE PASSWORD :'platform';
CREATE DATABASE slipway OWNER slipway;
REVOKE ALL ON DATABASE temporal, temporal_visibility, slipway, postgres, template1 FROM PUBLIC;
SQL
