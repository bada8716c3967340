#!/usr/bin/env bash
# Installs the Slipway of this repository in SLIPWAY_TOOL (by default .tool beside this folder): what
# "npm install slipway" brings, in the lock file's versions. A released version comes from npm; any other is built first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
action=$PWD/packages/action
tool=${SLIPWAY_TOOL:-$action/.tool}
key=$("$action/key.sh")
[ "$(cat "$tool/key" 2> /dev/null)" != "$key" ] || exit 0

# The job's secrets are variables. What is installed and built is other people's code, and gets none but these.
clean=(env -i)
for name in PATH HOME TMPDIR LANG CI NODE_EXTRA_CA_CERTS {HTTP,HTTPS,NO}_PROXY {http,https,no}_proxy \
  "${!npm_config_@}" "${!NPM_CONFIG_@}"; do
  [ -z "${!name+set}" ] || clean+=("$name=${!name}")
done
ci=(npm ci --ignore-scripts --no-audit --no-fund)

rm -rf "$tool"
mkdir -p "$tool"
version=$(node --print 'require("./package.json").version')
if [[ $(grep --max-count 1 '^## ' CHANGELOG.md) == "## $version ("* ]]; then
  node "$action/writeLock.mjs" "$tool" "slipway@$version" "@slipway/contract@$version"
else
  "${clean[@]}" "${ci[@]}"
  "${clean[@]}" npm run build -- --no-types
  "${clean[@]}" npm pack --silent --ignore-scripts --workspace packages/contract --include-workspace-root --pack-destination "$tool"
  node "$action/writeLock.mjs" "$tool" "slipway@file:slipway-$version.tgz" "@slipway/contract@file:slipway-contract-$version.tgz"
fi
cd "$tool"
"${clean[@]}" "${ci[@]}"
echo "$key" > key
