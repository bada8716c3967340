#!/usr/bin/env bash
# Installs and builds the Slipway that this folder belongs to, where that has not been done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ ! -e dist/command/main.js ] || exit 0

# The job's secrets are variables. What is installed and built is other people's code, and gets none but these.
clean=(env -i)
for name in PATH HOME TMPDIR LANG CI NODE_EXTRA_CA_CERTS {HTTP,HTTPS,NO}_PROXY {http,https,no}_proxy \
  "${!npm_config_@}" "${!NPM_CONFIG_@}"; do
  [ -z "${!name+set}" ] || clean+=("$name=${!name}")
done

"${clean[@]}" npm ci --ignore-scripts --no-audit --no-fund
"${clean[@]}" npm run build -- --no-types
