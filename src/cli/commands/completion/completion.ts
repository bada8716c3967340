import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import type { CommandModel } from './model.ts';
import { zshCompletion } from './zsh.ts';

/** The options of `slipway completion SHELL`. */
export interface CompletionOptions {
  readonly config?: string;
}

/** The shells that there is a completion for. */
const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/**
 * `slipway completion bash|zsh|fish`: prints the shell's completion. `slipway completion targets` and `promotions`, which
 * the shells call, print the names that `slipway.yaml` gives.
 *
 * @param model - every command, as it is defined.
 * @returns the exit code.
 */
export async function runCompletionCommand(
  { output }: CommandContext,
  what: string,
  model: () => readonly CommandModel[],
  { config }: CompletionOptions,
): Promise<number> {
  if (what === 'targets' || what === 'promotions') {
    const { namesInConfig } = await import('./names.ts');
    const names = await namesInConfig(what, config);
    output.event({ event: 'names', what, names });
    for (const name of names) output.print(name);
    return 0;
  }
  if (!isShell(what)) {
    throw new SlipwayError('SLIPWAY_USAGE', `there is no completion for "${what}"`, {
      hint: `one of: ${Object.keys(SHELLS).join(', ')}`,
    });
  }
  const script = SHELLS[what](model());
  output.event({ event: 'completion', shell: what, script });
  output.print(script.trimEnd());
  return 0;
}

function isShell(word: string): word is keyof typeof SHELLS {
  return Object.hasOwn(SHELLS, word);
}
