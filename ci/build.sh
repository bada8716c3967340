#!/usr/bin/env bash
# Installs and builds the Slipway that this folder belongs to, where that has not been done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ ! -e dist/command/main.js ] || exit 0
npm ci --no-audit --no-fund
npm run build -- --no-types
