import type { Command, Option } from 'commander';
import { parse } from 'yaml';

import { findConfig } from '../../config/findConfig.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { CommandContext } from '../context.ts';
import type { EventOf } from '../events/index.ts';

/** What can stand at the cursor: a word, or `:files` or `:folders`, which the shell completes itself. */
type Offer = EventOf<'offers'>['offers'][number];

/**
 * `slipway completion bash|zsh|fish`: prints the completion script. The script calls `slipway completion words -- WORD…`,
 * which prints what the last word can be: one per line, with its description behind a tab.
 */
export async function runCompletionCommand(
  { output }: CommandContext,
  program: Command,
  what: string,
  words: readonly string[],
): Promise<void> {
  if (what === 'words') {
    const offers = await offersFor(program, words);
    output.event({ event: 'offers', offers });
    for (const { word, description } of offers)
      output.print(description === undefined ? word : `${word}\t${description}`);
    return;
  }
  if (!isShell(what)) {
    const hint = `one of: ${Object.keys(SCRIPTS).join(', ')}`;
    throw new SlipwayError('SLIPWAY_USAGE', `there is no completion for "${what}"`, { hint });
  }
  const script = SCRIPTS[what];
  output.event({ event: 'completion', shell: what, script });
  output.print(script.trimEnd());
}

async function offersFor(program: Command, words: readonly string[]): Promise<readonly Offer[]> {
  const current = words.at(-1) ?? '';
  const offers = await offersAfter(program, words.slice(0, -1), current.startsWith('-'));
  return offers.filter(({ word }) => word.startsWith(current) || word.startsWith(':'));
}

async function offersAfter(
  program: Command,
  words: readonly string[],
  isOption: boolean,
): Promise<readonly Offer[]> {
  const { command, position, option, config } = readWords(program, words);
  if (option !== undefined) return valuesOf(placeholderOf(option) ?? '', option.argChoices, config);
  const help = command.createHelp();
  if (isOption)
    return help
      .visibleOptions(command)
      .map(({ long, flags, description }) => ({ word: long ?? flags, description }));
  if (command.commands.length > 0)
    return help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() }));
  const argument = command.registeredArguments[position];
  return argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices, config);
}

/** The command that the words before the cursor name, the position of its next argument, and the option that needs a value. */
function readWords(program: Command, words: readonly string[]) {
  let command = program;
  let position = 0;
  let option: Option | undefined;
  let config: string | undefined;
  for (const word of words) {
    const subcommand = command.commands.find((one) => one.name() === word);
    if (option !== undefined) {
      if (option.long === '--config') config = word;
      option = undefined;
    } else if (word.startsWith('-'))
      option = command.options.find(
        (one) => [one.short, one.long].includes(word) && placeholderOf(one) !== undefined,
      );
    else if (subcommand !== undefined) command = subcommand;
    else position += 1;
  }
  return { command, position, option, config };
}

/** `file` of `--config <file>`. */
function placeholderOf({ flags }: Option): string | undefined {
  return /[<[]([\w-]+)/.exec(flags)?.[1];
}

async function valuesOf(
  name: string,
  choices: readonly string[] | undefined,
  config: string | undefined,
): Promise<readonly Offer[]> {
  if (choices !== undefined) return choices.map((word) => ({ word }));
  switch (name) {
    case 'target':
      return namesInConfig('targets', config);
    case 'promotion':
      return namesInConfig('promotions', config);
    case 'shell':
      return Object.keys(SCRIPTS).map((word) => ({ word }));
    case 'file':
      return [{ word: ':files' }];
    case 'dir':
      return [{ word: ':folders' }];
    default:
      return [];
  }
}

/** The names in `slipway.yaml`. Empty if there is no file, or no YAML. */
async function namesInConfig(
  part: 'targets' | 'promotions',
  path: string | undefined,
): Promise<readonly Offer[]> {
  try {
    const { text } = await findConfig(path, process.cwd());
    const file = parse(text, { logLevel: 'silent' }) as Partial<Record<typeof part, object>> | null;
    return Object.keys(file?.[part] ?? {}).map((word) => ({ word }));
  } catch {
    // An error must not appear in the line being typed; `slipway lint` prints it.
    return [];
  }
}

const SCRIPTS = {
  bash: `# Completion of slipway for bash. In ~/.bashrc: source <(slipway completion bash)
_slipway() {
  local IFS=$'\\n'
  COMPREPLY=($(slipway completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  case "\${COMPREPLY[0]-}" in
    # Bash knows how to write the name of a file.
    :files | :folders) COMPREPLY=(); compopt -o default 2>/dev/null ;;
  esac
}
complete -F _slipway slipway
`,
  zsh: `# Completion of slipway for zsh. In ~/.zshrc, after compinit: source <(slipway completion zsh)
_slipway() {
  local -a offers
  offers=("\${(@f)$(slipway completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $offers[1] in
    :files) _files ;;
    :folders) _files -/ ;;
    ?*)
      offers=("\${(@)offers//:/\\\\:}")
      offers=("\${(@)offers/$'\\t'/:}")
      _describe word offers
      ;;
  esac
}
compdef _slipway slipway
`,
  fish: `# Completion of slipway for fish: slipway completion fish > ~/.config/fish/completions/slipway.fish
function __slipway_offers
  set -l words (commandline -opc) (commandline -ct)
  set -l offers (slipway completion words -- $words[2..] 2>/dev/null)
  switch "$offers[1]"
    case :files
      __fish_complete_path $words[-1]
    case :folders
      __fish_complete_directories $words[-1]
    case '*'
      printf '%s\\n' $offers
  end
end
complete -c slipway -f -a '(__slipway_offers)'
`,
};

function isShell(word: string): word is keyof typeof SCRIPTS {
  return Object.hasOwn(SCRIPTS, word);
}
