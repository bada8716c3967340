#!/usr/bin/env bash
# Runs one command of the Slipway that install.sh installed, from the variables SLIPWAY_INPUT_…; ends with its exit code.
set -euo pipefail
tool=${SLIPWAY_TOOL:-$(dirname "${BASH_SOURCE[0]}")/.tool}

words=("${SLIPWAY_INPUT_COMMAND:-release}")
[ -z "${SLIPWAY_INPUT_TARGET:-}" ] || words+=("$SLIPWAY_INPUT_TARGET")
[ -z "${SLIPWAY_INPUT_CONFIG:-}" ] || words+=(--config "$SLIPWAY_INPUT_CONFIG")
[ -z "${SLIPWAY_INPUT_REASON:-}" ] || words+=(--reason "$SLIPWAY_INPUT_REASON")
# The other commands wait for nothing, and have no such options.
case "${words[0]}" in
  release | promote | rollback | preview | watch)
    [ -z "${SLIPWAY_INPUT_TIMEOUT:-}" ] || words+=(--timeout "$SLIPWAY_INPUT_TIMEOUT") ;;
esac
case "${words[0]}" in
  release | promote | rollback | preview) [ "${SLIPWAY_INPUT_WAIT:-true}" != false ] || words+=(--no-wait) ;;
esac
while IFS= read -r word; do
  [ -z "$word" ] || words+=("$word")
done <<< "${SLIPWAY_INPUT_ARGUMENTS:-}"

# A setting that a workflow passes on and that nobody has set is empty: that is not set.
for name in "${!TEMPORAL_@}"; do
  [ -n "${!name}" ] || unset "$name"
done

# The process itself, so that a canceled job is heard: the release goes on.
exec node "$tool/node_modules/slipway/bin/slipway.js" "${words[@]}"
