import type { CommandModel } from './model.ts';
import { shellTables } from './shellTables.ts';

/** The completion of zsh: to be read by `source`, after `compinit`. */
export function zshCompletion(model: readonly CommandModel[]): string {
  return `# Completion of slipway for zsh. In ~/.zshrc, after compinit: source <(slipway completion zsh)
${shellTables(model)}
_slipway() {
  local current="\${words[CURRENT]}" at position expects config place
  local -a offered
  _slipway_walk "\${(@)words[2,CURRENT-1]}"
  place="$(_slipway_place "$current")"
  case "$place" in
    commands)
      offered=("\${(@f)$(_slipway_commands "$at")}")
      _describe -t commands command offered
      ;;
    options)
      offered=("\${(@f)$(_slipway_options "$at")}")
      _describe -t options option offered
      ;;
    targets | promotions)
      offered=("\${(@f)$(slipway completion "$place" \${config:+--config} \${config:+"$config"} 2>/dev/null)}")
      compadd -a offered
      ;;
    'words '*)
      offered=(\${=place#words })
      compadd -a offered
      ;;
    files) _files ;;
    folders) _files -/ ;;
  esac
}
compdef _slipway slipway
`;
}
