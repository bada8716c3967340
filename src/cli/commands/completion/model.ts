import type { Command, Option } from 'commander';

/** What an argument or option value can be: names from `slipway.yaml`, files, folders, words, or anything. */
export type ValueKind = 'targets' | 'promotions' | 'files' | 'folders' | 'anything' | readonly string[];

export interface OptionModel {
  /** `--config`. */
  readonly name: string;
  readonly description: string;
  /** The kind of its value; `undefined` if it takes none. */
  readonly takes: ValueKind | undefined;
}

export interface CommandModel {
  /** Its words: `platform keys create`. Empty for `slipway` itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionModel[];
  /** The kinds of its arguments, in order. A variadic last one can repeat. */
  readonly values: readonly ValueKind[];
}

/** A program and all its subcommands, the program first, in the order of their definition. */
export function completionModel(program: Command, path: readonly string[] = []): readonly CommandModel[] {
  const own: CommandModel = {
    path: path.join(' '),
    commands: [...program.commands].map((command) => ({
      name: command.name(),
      description: command.description(),
    })),
    options: [...program.options.flatMap(optionModel), HELP],
    values: program.registeredArguments.map((argument) => kindOf(argument.name(), argument.argChoices)),
  };
  return [own, ...program.commands.flatMap((command) => completionModel(command, [...path, command.name()]))];
}

const HELP: OptionModel = { name: '--help', description: 'show the help of the command', takes: undefined };

function optionModel({ long, description, argChoices, flags }: Option): readonly OptionModel[] {
  if (long == null) return [];
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1];
  return [
    {
      name: long,
      description,
      takes: placeholder === undefined ? undefined : kindOf(placeholder, argChoices),
    },
  ];
}

function kindOf(name: string, choices: readonly string[] | undefined): ValueKind {
  if (choices !== undefined) return choices;
  return KINDS[name] ?? 'anything';
}

const KINDS: Readonly<Partial<Record<string, ValueKind>>> = {
  target: 'targets',
  promotion: 'promotions',
  file: 'files',
  dir: 'folders',
  shell: ['bash', 'zsh', 'fish'],
};
