import { readFile } from 'node:fs/promises';

import { type LoadedConfig, loadConfig } from '../../../config/loadConfig.ts';
import { choosePromotion } from '../../../config/promotionSettings.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { Injection } from '../../../domain/rehearsal/injection.ts';
import { readInjections } from '../../../rehearsal/readInjections.ts';
import { rehearse } from '../../../rehearsal/rehearse.ts';
import { installTestServer } from '../../../temporal/server/installation/testServerInstallation.ts';
import { startTestServer } from '../../../temporal/server/testServer.ts';
import type { CommandContext } from '../../context.ts';
import { INTERRUPTED, onInterruption } from '../../interruption.ts';
import { choosePort } from '../dev/ports.ts';
import { logOnStderr } from '../worker/workerLog.ts';
import { rehearsalOf } from './rehearsalOf.ts';
import { Story } from './story.ts';

/** The options of `slipway rehearse [PROMOTION]`. */
export interface RehearseOptions {
  readonly config?: string;
  readonly days: number;
  /** A file of injections. */
  readonly with?: string;
  readonly inject?: readonly string[];
}

/**
 * `slipway rehearse [PROMOTION]`: carries the promotions of the file out in skipped time, with what is injected, and tells
 * what would happen. Touches nothing: neither Temporal, nor a control plane, nor an agent.
 *
 * Decision: the exit code is 0 where the rehearsal could be carried out, however its promotions ended; `--json` has each
 * outcome.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_USAGE for an injection that is not understood; SLIPWAY_TEST_SERVER_UNAVAILABLE.
 */
export async function runRehearseCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: RehearseOptions,
): Promise<number> {
  const { output } = context;
  const began = performance.now();
  const file = await loadConfig(options.config);
  const names = promotionsOf(file, wanted);
  const rehearsal = await rehearsalOf(context, file, {
    names,
    days: options.days,
    injections: await injectionsOf(file, options),
  });
  const story = new Story(output, rehearsal);
  const interruption = onInterruption();
  const { signal } = interruption;
  try {
    const { path: executable } = await installTestServer({
      onProgress: (line) => output.progress(line),
      signal,
      env: context.environment,
    });
    const port = await choosePort({ option: 'none', asked: 0, preferred: 0 });
    const server = await startTestServer({ executable, port, signal });
    try {
      // Its lines would stand in the middle of the story.
      logOnStderr('ERROR');
      const rehearsed = await rehearse(server, rehearsal, { onEvent: (event) => story.add(event), signal });
      story.tell(rehearsed, performance.now() - began);
      return 0;
    } finally {
      await server.stop();
    }
  } catch (error) {
    if (!signal.aborted || error instanceof SlipwayError) throw error;
    output.event({ event: 'stopped' });
    output.note('stopped; nothing is left running');
    return INTERRUPTED;
  } finally {
    interruption.release();
  }
}

function promotionsOf({ config }: LoadedConfig, wanted: string | undefined): readonly string[] {
  const names = Object.keys(config.promotions);
  return wanted === undefined && names.length > 1 ? names : [choosePromotion(config, wanted)];
}

async function injectionsOf(
  { config }: LoadedConfig,
  { with: file, inject = [] }: RehearseOptions,
): Promise<readonly Injection[]> {
  const known = { checks: config.checks.map(({ name }) => name), targets: Object.keys(config.targets) };
  const ofFile = file === undefined ? [] : readInjections(await read(file), file, known);
  return [...ofFile, ...inject.flatMap((sentence) => readInjections(sentence, '--inject', known))];
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SlipwayError('SLIPWAY_USAGE', `the file of injections cannot be read: ${why}`, {
      place: file,
      hint: 'slipway rehearse --help shows what it may contain',
      cause,
    });
  }
}
