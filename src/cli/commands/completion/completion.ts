import { parse } from 'yaml';

import { findConfig } from '../../../config/findConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { CommandModel, OptionModel, ValueKind } from './model.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/**
 * `slipway completion bash|zsh|fish`: prints the completion script. `slipway completion targets` and `promotions`,
 * which the shells call, print the names that `slipway.yaml` gives.
 */
export async function runCompletionCommand(
  { output }: CommandContext,
  what: string,
  model: () => readonly CommandModel[],
  { config }: FileOptions,
): Promise<number> {
  if (what === 'targets' || what === 'promotions') {
    const names = await namesInConfig(what, config);
    output.event({ event: 'names', what, names });
    for (const name of names) output.print(name);
    return 0;
  }
  if (!isShell(what)) {
    const hint = `one of: ${Object.keys(SHELLS).join(', ')}`;
    throw new SlipwayError('SLIPWAY_USAGE', `there is no completion for "${what}"`, { hint });
  }
  const script = SHELLS[what](model());
  output.event({ event: 'completion', shell: what, script });
  output.print(script.trimEnd());
  return 0;
}

function isShell(word: string): word is keyof typeof SHELLS {
  return Object.hasOwn(SHELLS, word);
}

function bashCompletion(model: readonly CommandModel[]): string {
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

function zshCompletion(model: readonly CommandModel[]): string {
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

function fishCompletion(model: readonly CommandModel[]): string {
  const paths = model.map(({ path }) => fishQuoted(path)).join(' ');
  return `# Completion of slipway for fish: slipway completion fish > ~/.config/fish/completions/slipway.fish
function __slipway_at
  set -l paths ${paths}
  set -l at ''
  set -l tokens (commandline -opc)
  for token in $tokens[2..-1]
    set -l longer (string trim -- "$at $token")
    if contains -- $longer $paths
      set at $longer
    end
  end
  test "$at" = "$argv[1]"
end
complete -c slipway -f
${model.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, options, values }: CommandModel): readonly string[] {
  const at = `complete -c slipway -n ${fishQuoted(`__slipway_at ${fishQuoted(path)}`)}`;
  const kinds = [...new Set(values.map((value) => offered(value)).filter((words) => words !== ''))];
  return [
    ...commands.map(({ name, description }) => `${at} -a ${fishQuoted(name)} -d ${fishQuoted(description)}`),
    ...options.map((option) => `${at} ${optionWords(option)}`),
    ...kinds.map((words) => `${at} ${words}`),
  ];
}

function optionWords({ name, description, takes }: OptionModel): string {
  const option = `-l ${name.slice(2)} -d ${fishQuoted(description)}`;
  if (takes === undefined) return option;
  // With "-x" fish offers only our values; without it, it offers files.
  return takes === 'files' || takes === 'folders'
    ? `${option} -r -F`
    : `${option} -x ${offered(takes)}`.trimEnd();
}

function offered(kind: ValueKind): string {
  switch (kind) {
    case 'targets':
    case 'promotions':
      return `-a ${fishQuoted(`(slipway completion ${kind} 2>/dev/null)`)}`;
    case 'files':
    case 'folders':
      return '-F';
    case 'anything':
      return '';
    default:
      return `-a ${fishQuoted(kind.join(' '))}`;
  }
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/**
 * The commands, and the position of the cursor, as functions for both bash and zsh. The tables print lines:
 * `name:description`, or the kind of value (`targets`, `promotions`, `files`, `folders`, `words …`).
 */
function shellTables(model: readonly CommandModel[]): string {
  return [
    table('_slipway_commands', '"$1"', model, ({ path, commands }) => [
      [path, commands.map(({ name, description }) => `${name}:${description}`)],
    ]),
    table('_slipway_options', '"$1"', model, ({ path, options }) => [
      [path, options.map(({ name, description }) => `${name}:${description}`)],
    ]),
    table('_slipway_value', '"$1 $2"', model, ({ path, options }) =>
      options.flatMap(({ name, takes }): Row[] =>
        takes === undefined ? [] : [[`${path} ${name}`, [placed(takes)]]],
      ),
    ),
    table('_slipway_argument', '"$1 $2"', model, ({ path, values }) =>
      values.map((value, index): Row => [`${path} ${index}`, [placed(value)]]),
    ),
    WALK,
  ].join('\n');
}

/**
 * `_slipway_walk` reads the words before the one that is typed into the variables `at` (the command), `position` (of
 * the argument), `expects` (what the option before it takes) and `config`; `_slipway_place` then prints the kind of
 * value. (No variable is named `path`: in zsh that is the command search path.)
 */
const WALK = `_slipway_walk() {
  local word option=''
  at='' position=0 expects='' config=''
  for word in "$@"; do
    if [ -n "$expects" ]; then
      [ "$option" != --config ] || config="$word"
      expects=''
      continue
    fi
    case "$word" in
      '') ;;
      -*)
        option="$word"
        expects="$(_slipway_value "$at" "$word")"
        ;;
      *)
        case $'\\n'"$(_slipway_commands "$at")" in
          *$'\\n'"$word":*) at="\${at:+$at }$word" ;;
          *) position=$((position + 1)) ;;
        esac
        ;;
    esac
  done
}
_slipway_place() {
  if [ -n "$expects" ]; then
    printf '%s\\n' "$expects"
  elif [ "\${1#-}" != "$1" ]; then
    printf 'options\\n'
  elif [ -n "$(_slipway_commands "$at")" ]; then
    printf 'commands\\n'
  else
    _slipway_argument "$at" "$position"
  fi
}`;

type Row = readonly [key: string, lines: readonly string[]];

function table(
  name: string,
  key: string,
  model: readonly CommandModel[],
  rowsOf: (command: CommandModel) => readonly Row[],
): string {
  const rows = model.flatMap(rowsOf).filter(([, lines]) => lines.length > 0);
  return [
    `${name}() {`,
    `  case ${key} in`,
    ...rows.map(([at, lines]) => `    ${quoted(at)}) printf '%s\\n' ${lines.map(quoted).join(' ')} ;;`),
    '  esac',
    '}',
  ].join('\n');
}

function placed(kind: ValueKind): string {
  return typeof kind === 'string' ? kind : `words ${kind.join(' ')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The names in `slipway.yaml`, for shell completion. Empty if there is no file, or no YAML. */
async function namesInConfig(
  part: 'targets' | 'promotions',
  path: string | undefined,
): Promise<readonly string[]> {
  try {
    const { text } = await findConfig(path, process.cwd());
    const file = parse(text, { logLevel: 'silent' }) as Partial<Record<typeof part, object>> | null;
    return Object.keys(file?.[part] ?? {});
  } catch {
    // An error must not appear in the line being typed; `slipway lint` prints it.
    return [];
  }
}
