#!/usr/bin/env bash
# Makes a bare Debian machine ready for the tests in containers: Podman with runc, and every image that they need. Run it
# as root, once. Images that no registry gives are made here: bases and PostgreSQL and Caddy from Debian's packages,
# Temporal's server and its UI from their Go modules.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

if ! command -v podman >/dev/null || ! command -v runc >/dev/null || ! command -v catatonit >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends \
    podman runc conmon netavark aardvark-dns iptables iproute2 catatonit mmdebstrap python3-venv >/dev/null
fi
if ! command -v podman-compose >/dev/null; then
  python3 -m venv /opt/podman-compose
  /opt/podman-compose/bin/pip install --quiet podman-compose==1.6.0
  ln -sf /opt/podman-compose/bin/podman-compose /usr/local/bin/podman-compose
fi
mkdir -p /etc/containers
# crun refuses machines whose control groups are of both versions. Podman's default limits may be above the machine's.
[ -f /etc/containers/containers.conf ] || cat >/etc/containers/containers.conf <<'CONF'
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4000:4000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
CONF

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
have() { podman image exists "$1" || timeout 300 podman pull --quiet "$1" >/dev/null 2>&1; }

debian=docker.io/library/debian:bookworm-slim
if ! have $debian; then
  mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/base.tar"
  podman import --quiet "$work/base.tar" $debian >/dev/null
fi
# Builds and agents run in it. Slipway's image is built on it where no registry has the base that the Dockerfile names.
own=docker.io/library/node:$(node -p process.versions.node)-bookworm-slim
if ! have "$own"; then
  cp "$(command -v node)" "$work/node"
  cp -r "$(dirname "$(readlink -f "$(command -v npm)")")/.." "$work/npm"
  cp /etc/ssl/certs/ca-certificates.crt "$work/ca.crt"
  podman build --quiet --tag "$own" --file "$here/standIns/node.Dockerfile" "$work" >/dev/null
fi
have "docker.io/library/$(sed -n 's/^ARG NODE_IMAGE=//p' "$root/Dockerfile")" || true

# Images of others, as docker-compose.yml and docker-compose.tls.yml name them.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/slipway/containers
stand_in() { # NAME FOLDER: what has the Dockerfile's files
  podman image exists "localhost/slipway-test/$1" ||
    podman build --quiet --network host --tag "localhost/slipway-test/$1" --file "$here/standIns/$1.Dockerfile" "$2" >/dev/null
}
go_program() { # PACKAGE@VERSION NAME
  [ -x "$cache/$2" ] && return
  mkdir -p "$cache"
  CGO_ENABLED=0 GOBIN="$work/go" go install "$1"
  mv "$work/go/"* "$cache/$2"
}
image() { sed -n "s|^ *image: \($1:.*\)|\1|p" "$root/docker-compose.yml" "$root/docker-compose.tls.yml"; }
have "docker.io/library/$(image postgres)" || stand_in postgres "$here/standIns"
have "docker.io/library/$(image caddy)" || stand_in caddy "$here/standIns"
temporal=$(image temporalio/auto-setup) ui=$(image temporalio/ui)
if ! have "docker.io/$temporal"; then
  version=${temporal#*:} version=${version%@*}
  go_program "go.temporal.io/server/cmd/server@v$version" "temporal-server-$version"
  go_program "go.temporal.io/server/cmd/tools/sql@v$version" "temporal-sql-tool-$version"
  cp "$cache/temporal-server-$version" "$work/temporal-server"
  cp "$cache/temporal-sql-tool-$version" "$work/temporal-sql-tool"
  cp "$(command -v temporal || ls "${XDG_CACHE_HOME:-$HOME/.cache}"/slipway/temporal/*/temporal)" "$work/temporal"
  cp -r "$(go mod download -json "go.temporal.io/server@v$version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')/schema/postgresql/v12" "$work/schema"
  cp "$here/standIns/temporal.sh" "$work/"
  chmod -R u+w "$work"
  stand_in temporal "$work"
fi
if ! have "docker.io/$ui"; then
  version=${ui#*:} version=${version%@*}
  go_program "github.com/temporalio/ui-server/v2/cmd/server@v$version" "temporal-ui-$version"
  cp "$cache/temporal-ui-$version" "$work/temporal-ui"
  cp "$here/standIns/temporalUi.yaml" "$work/"
  stand_in temporal-ui "$work"
fi
podman images --format '{{.Repository}}:{{.Tag}}  {{.Size}}'
