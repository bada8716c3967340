import type { CommandModel, ValueKind } from './model.ts';

/**
 * What the commands are, and where somebody is who types, as functions that bash and zsh understand alike. The tables
 * print lines: `name:description`, or what may stand in a place (`targets`, `promotions`, `files`, `folders`,
 * `words …`).
 */
export function shellTables(model: readonly CommandModel[]): string {
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
 * `_slipway_walk` reads the words before the one that is typed into the variables `at` (the command), `position` (of the
 * argument), `expects` (what the option before it takes) and `config`; `_slipway_place` then says what may stand there.
 * (`path` is not for variables: to zsh it is where commands are looked for.)
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
