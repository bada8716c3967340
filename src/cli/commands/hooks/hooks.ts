import { getRequestListener } from '@hono/node-server';

import { makeHome } from '../../../config/home.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { resolveSecret } from '../../../config/secretReference.ts';
import { listen } from '../../../dashboard/listen.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type Answered, hookRoutes } from '../../../hooks/hookRoutes.ts';
import type { ListeningHook } from '../../../hooks/listeningHook.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, onInterruption } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { Output } from '../../output.ts';
import { printProblems } from '../lint/problemLines.ts';
import { listeningHooks } from './listeningHooks.ts';
import { requestSource } from './requestSource.ts';

/** The options of `slipway hooks`. */
interface HooksOptions {
  readonly config?: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * `slipway hooks`: listens for what products send to the hooks of the file, until SIGTERM or SIGINT. Prints
 * `{"event":"ready","hooks":"http://…","names":[…]}` once it answers. With `SLIPWAY_EXIT_WITH_PARENT=1` it also ends when its
 * stdin does.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_CONFIG_…, SLIPWAY_HOOK_UNKNOWN, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_PORT_UNAVAILABLE.
 */
export async function runHooksCommand(
  context: CommandContext,
  { config: path, host, port }: HooksOptions,
): Promise<number> {
  const { output, environment } = context;
  const file = await loadConfig(path);
  printProblems(output, file.warnings, 'note');
  const hooks = await listeningHooks(context, file);
  for (const hook of hooks) warnOfMissingSecret(context, hook);
  const interruption = onInterruption();
  exitWithParent(environment);
  try {
    await makeHome(context.home);
    return await withTemporal(context, async (temporal) => {
      const source = requestSource(context, file, interruption.signal);
      const onAnswered = (answered: Answered): void => tellAnswered(output, answered);
      const routes = hookRoutes({ hooks, temporal, environment, source, onAnswered });
      const answer = getRequestListener(routes.fetch);
      const listening = await listen((request, response) => void answer(request, response), {
        host,
        port,
        option: '--port; --port 0 takes a free one',
      });
      output.event({ event: 'ready', hooks: listening.url, names: hooks.map(({ name }) => name) });
      for (const { name, config } of hooks)
        output.print(`${name} (${config.form}) listens at ${listening.url}/hooks/${name}`);
      await untilAborted(interruption.signal);
      await listening.close();
      return 0;
    });
  } finally {
    interruption.release();
  }
}

/** Its secret is read for each request: until it is there, requests are answered 503. */
function warnOfMissingSecret({ output, environment }: CommandContext, { name, config }: ListeningHook): void {
  try {
    resolveSecret(config.secret, environment);
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    output.note(output.style.warn(`the hook "${name}" takes nothing: ${error.message}`));
  }
}

function tellAnswered(output: Output, { hook, status, error, answers }: Answered): void {
  const count = (disposition: (typeof answers)[number]['disposition']): number =>
    answers.filter((answer) => answer.disposition === disposition).length;
  const counts = {
    taken: count('taken'),
    duplicates: count('duplicate'),
    unmatched: count('unmatched'),
  };
  // Whoever knows the address can have it refuse: the log has the hook's name only if there is one.
  const named = status === 404 ? '' : hook;
  output.event({ event: 'delivery', hook: named, status, code: error?.code ?? null, ...counts });
  const what =
    error === undefined
      ? `${counts.taken} taken, ${counts.duplicates} known, ${counts.unmatched} without a rule`
      : `${error.code}, ${error.message}`;
  output.info(`${named === '' ? 'no hook' : named}: ${status}, ${what}`);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
