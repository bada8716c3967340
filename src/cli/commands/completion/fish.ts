import type { CommandModel, OptionModel, ValueKind } from './model.ts';

/** The completion of fish: to be read by `source`, or put into `~/.config/fish/completions/slipway.fish`. */
export function fishCompletion(model: readonly CommandModel[]): string {
  const paths = model.map(({ path }) => quoted(path)).join(' ');
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
  const at = `complete -c slipway -n ${quoted(`__slipway_at ${quoted(path)}`)}`;
  const kinds = [...new Set(values.map((value) => offered(value)).filter((words) => words !== ''))];
  return [
    ...commands.map(({ name, description }) => `${at} -a ${quoted(name)} -d ${quoted(description)}`),
    ...options.map((option) => `${at} ${optionWords(option)}`),
    ...kinds.map((words) => `${at} ${words}`),
  ];
}

function optionWords({ name, description, takes }: OptionModel): string {
  const option = `-l ${name.slice(2)} -d ${quoted(description)}`;
  if (takes === undefined) return option;
  // With "-x" nothing else is offered; files are what fish offers where a value is needed.
  return takes === 'files' || takes === 'folders'
    ? `${option} -r -F`
    : `${option} -x ${offered(takes)}`.trimEnd();
}

function offered(kind: ValueKind): string {
  switch (kind) {
    case 'targets':
    case 'promotions':
      return `-a ${quoted(`(slipway completion ${kind} 2>/dev/null)`)}`;
    case 'files':
    case 'folders':
      return '-F';
    case 'anything':
      return '';
    default:
      return `-a ${quoted(kind.join(' '))}`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
