#!/bin/bash
# Sets up the schemas and the default namespace, as temporalio/auto-setup does, and serves.
set -eu
export SQL_PASSWORD=$POSTGRES_PWD TEMPORAL_ADDRESS=127.0.0.1:7233
tool() { temporal-sql-tool --plugin "$DB" --ep "$POSTGRES_SEEDS" --user "$POSTGRES_USER" --port "$DB_PORT" --db "$@"; }
for part in temporal visibility; do
  database=temporal
  [ $part = visibility ] && database=temporal_visibility
  [ "$SKIP_DB_CREATE" = true ] || tool $database create
  tool $database setup-schema --version 0.0
  tool $database update-schema --schema-dir schema/$part/versioned
done
store() {
  echo "{ sql: { pluginName: $DB, databaseName: $1, connectAddr: '$POSTGRES_SEEDS:$DB_PORT', connectProtocol: tcp, user: $POSTGRES_USER, password: '$POSTGRES_PWD', maxConns: 20 } }"
}
service() { echo "{ rpc: { grpcPort: $1, membershipPort: $2, bindOnIP: $BIND_ON_IP${3:-} } }"; }
cat >config/container.yaml <<CONFIG
log: { stdout: true, level: warn }
persistence:
  numHistoryShards: 4
  defaultStore: default
  visibilityStore: visibility
  datastores: { default: $(store temporal), visibility: $(store temporal_visibility) }
global:
  membership: { maxJoinDuration: 30s, broadcastAddress: $TEMPORAL_BROADCAST_ADDRESS }
services:
  frontend: $(service 7233 6933 ', httpPort: 7243')
  matching: $(service 7235 6935)
  history: $(service 7234 6934)
  worker: $(service 7239 6939)
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation: { active: { enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: '127.0.0.1:7233' } }
dcRedirectionPolicy: { policy: noop }
archival: { history: { state: disabled }, visibility: { state: disabled } }
publicClient: { hostPort: '127.0.0.1:7233' }
dynamicConfigClient: { filepath: $DYNAMIC_CONFIG_FILE_PATH, pollInterval: 60s }
CONFIG
(
  until temporal operator cluster health 2>/dev/null | grep -q SERVING; do sleep 1; done
  temporal operator namespace describe --namespace default >/dev/null 2>&1 ||
    temporal operator namespace create --namespace default --retention "$DEFAULT_NAMESPACE_RETENTION" >/dev/null
) &
exec temporal-server --root . --config config --env container start
