import { loadConfig } from '../../config/loadConfig.ts';
import type { Outcome } from '../../domain/release/outcome.ts';
import type { TargetView } from '../../messages/target.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { pause } from '../../temporal/client/pause.ts';
import { isUnanswered, viewTarget } from '../../temporal/client/target/targetClient.ts';
import { isTemporalSilent } from '../../temporal/client/temporalError.ts';
import type { CommandContext, FileOptions } from '../context.ts';
import { type Followed, followToEnd } from '../follow/followToEnd.ts';
import { GAVE_UP, printGaveUp } from '../follow/stopFollowing.ts';
import { interruptible } from '../interruption.ts';
import { withTemporal } from '../openTemporal.ts';
import { chooseTargetSpec } from './target/targetAccess.ts';

export interface WatchOptions extends FileOptions {
  readonly timeout: number;
}

const LOOK_MS = 1_000;

/**
 * `slipway watch [TARGET]`: follows the running release of a target to its end. If none runs, it waits for the next
 * one.
 * @returns the followed release's exit code, or 5 if the command stopped following.
 */
export async function runWatchCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: WatchOptions,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const { name, spec, workflowId } = await chooseTargetSpec(context, file, wanted);
  const deadline = Date.now() + options.timeout;
  return interruptible((signal) =>
    withTemporal(context, async (temporal) => {
      const before = await viewTarget(temporal, workflowId);
      const ended = new Set(before?.state.history.map(({ releaseId }) => releaseId));
      let watched = underWay(before, ended);
      if (watched === undefined) {
        output.event({ event: 'idle', target: name });
        output.info(`nothing runs on ${output.style.strong(name)}; waiting for the next release`);
      }
      watched ??= await nextWork(temporal, workflowId, ended, deadline, signal);
      if (watched === undefined) {
        const why = signal.aborted ? 'stopped' : 'timeout';
        printGaveUp(output, why, `slipway status ${name}`, `nothing ran on ${name}`);
        return GAVE_UP;
      }
      output.info(`${output.style.strong(watched.id)} on ${output.style.strong(name)}`);
      const followed = {
        ...watched,
        targetName: name,
        spec,
        workflowId,
        timeoutMs: Math.max(deadline - Date.now(), LOOK_MS),
      };
      return (await followToEnd({ ...context, temporal, signal }, followed)).exitCode;
    }),
  );
}

/** Waits for the next release, also while Temporal or the workers restart. `undefined`: none until the deadline. */
export async function nextWork(
  temporal: TemporalConnection,
  workflowId: string,
  ended: ReadonlySet<string>,
  deadline: number,
  signal: AbortSignal,
): Promise<Watched | undefined> {
  let watched: Watched | undefined;
  while (watched === undefined && Date.now() < deadline && !signal.aborted) {
    await pause(LOOK_MS, signal);
    try {
      watched = underWay(await viewTarget(temporal, workflowId), ended);
    } catch (error) {
      if (!isUnanswered(error) && !isTemporalSilent(error)) throw error;
    }
  }
  return watched;
}

type Watched = Pick<Followed, 'id' | 'asked'>;

const NEVER_RAN: ReadonlySet<Outcome> = new Set(['rejected', 'superseded']);

/**
 * The running or next release of a target; else one that ran between two looks.
 * @param ended - the releases that had ended before the first look.
 */
function underWay(view: TargetView | undefined, ended: ReadonlySet<string>): Watched | undefined {
  if (view === undefined) return undefined;
  const { running, state } = view;
  if (running !== null) return { id: running.releaseId, asked: running.kind };
  const [next] = state.queue;
  if (next !== undefined) return { id: next.releaseId, asked: 'release' };
  const missed = state.history.find(
    ({ releaseId, outcome }) => !ended.has(releaseId) && !NEVER_RAN.has(outcome),
  );
  return missed === undefined ? undefined : { id: missed.releaseId, asked: missed.kind };
}
