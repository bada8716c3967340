import type { CommandModel } from './model.ts';
import { shellTables } from './shellTables.ts';

/** The completion of bash, from 3.2 on: to be read by `source`. */
export function bashCompletion(model: readonly CommandModel[]): string {
  return `# Completion of slipway for bash. In ~/.bashrc: source <(slipway completion bash)
${shellTables(model)}
_slipway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at position expects config place offered
  _slipway_walk "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  place="$(_slipway_place "$current")"
  COMPREPLY=()
  case "$place" in
    commands) offered="$(_slipway_commands "$at" | cut -d: -f1)" ;;
    options) offered="$(_slipway_options "$at" | cut -d: -f1)" ;;
    targets | promotions) offered="$(slipway completion "$place" \${config:+--config "$config"} 2>/dev/null)" ;;
    'words '*) offered="\${place#words }" ;;
    # What is a file is left to bash, which knows how to write its name.
    files | folders) compopt -o default 2>/dev/null; return ;;
    *) return ;;
  esac
  local IFS=$' \\n'
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -F _slipway slipway
`;
}
