import { z } from 'zod';

import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import { ServiceError } from '../../../clients/serviceError.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import {
  type Deployment,
  findDeployment,
  withControlPlane,
} from '../../../inspection/deployment/deploymentAccess.ts';
import {
  lineOf,
  logEnd,
  type LogLine,
  type LogStage,
  revisionMeant,
  type RevisionOf,
} from '../../../inspection/deployment/revisionLog.ts';
import { pause } from '../../../temporal/client/pause.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { interruptible } from '../../interruption.ts';
import { retryBusy } from '../../retryBusy.ts';
import { chooseTargetSpec, type ChosenTarget } from '../target/targetAccess.ts';
import { logPrinter } from './printRevisionLog.ts';
import { printReleaseLog } from './releaseLog.ts';

export interface LogsOptions extends FileOptions {
  readonly revision?: string;
  /** A release, or `latest`: print what all processes logged about it. */
  readonly release?: string;
  readonly serving?: true;
  /** Default: both. */
  readonly stage?: LogStage;
  readonly tail: number;
  readonly follow?: boolean;
}

/**
 * `slipway logs [TARGET]`: prints a revision's build and deploy logs, from the control plane. `--release ID`: what all
 * processes logged about a release.
 */
export async function runLogsCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: LogsOptions,
): Promise<void> {
  const target = await chooseTargetSpec(context, await loadConfig(options.config), wanted);
  return interruptible(async (signal) => {
    if (options.release !== undefined) {
      const asked = { target, release: options.release, tail: options.tail };
      await printReleaseLog(context, asked, options.follow === true ? signal : undefined);
      return;
    }
    await withControlPlane(context, target.spec, (client) =>
      printLog(context, client, target, options, signal),
    );
  });
}

async function printLog(
  context: CommandContext,
  client: ControlPlaneClient,
  chosen: ChosenTarget,
  { revision, serving, stage, tail, follow = false }: LogsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { output } = context;
  const { name: target, spec } = chosen;
  const retry = <T>(call: () => Promise<T>): Promise<T> => retryBusy(context, call, signal);
  const deployment = await retry(() => findDeployment(client, spec));
  const { active_revision_id: active, latest_revision_id: newest } = deployment;
  const unnamed = serving ? active : newest;
  const revisionId =
    revision === undefined ? unnamed : await retry(() => revisionMeant(client, deployment.id, revision));
  if (revisionId === null) {
    const lacks = serving ? 'no revision that serves' : 'no revision';
    throw new SlipwayError('SLIPWAY_NOT_FOUND', `the deployment of "${target}" has ${lacks}`, {
      place: deployment.id,
      hint: `see its state: slipway status ${target}`,
    });
  }
  const of = { deploymentId: deployment.id, revisionId };
  const print = logPrinter(context, chosen, revisionId);
  const { lines, after } = await retry(() => logEnd(client, of, stage, tail));
  output.progress(
    `Log of revision ${revisionId} on "${target}": ${standing(target, revisionId, deployment)}`,
  );
  lines.forEach(print);
  if (!follow) {
    if (lines.length === 0) output.note(`revision ${revisionId} has written nothing`);
    return;
  }
  if (after === undefined) {
    throw new SlipwayError('SLIPWAY_USAGE', 'this control plane’s logs cannot be followed', {
      place: '--follow',
      hint: `print the log as it is now: slipway logs ${target}`,
    });
  }
  for await (const line of followLog(client, of, stage, after.offset, signal)) print(line);
}

/** Whether a revision is the newest and whether it serves; if another one serves, the command for its log. */
function standing(target: string, revisionId: string, deployment: Deployment): string {
  const { active_revision_id: active, latest_revision_id: newest } = deployment;
  const age = revisionId === newest ? 'the newest' : 'not the newest';
  if (revisionId === active) return `${age}; it serves`;
  if (active === null) return `${age}; none serves`;
  return `${age}; revision ${active} serves (slipway logs ${target} --serving)`;
}

const Line = z.looseObject({ id: z.string(), stage: z.string(), message: z.string(), timestamp: z.string() });

const NO_LINE = 'an event of the control plane is no line of a log';

/** The errors of a connection that may soon work again. */
const PASSING: readonly string[] = [
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_RATE_LIMITED',
  'SLIPWAY_SERVICE_ERROR',
];
const REOPEN_AFTER_MS = 1_000;

/**
 * The lines that a revision logs from now on, until its log is complete. After a lost connection it continues with the
 * next line.
 * @param after - the id of the last known line.
 * @throws SlipwayError if the control plane refuses.
 */
export async function* followLog(
  client: ControlPlaneClient,
  { deploymentId, revisionId }: RevisionOf,
  stage: LogStage | undefined,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<LogLine, void> {
  for (let offset = after; !signal.aborted;) {
    let askedMs = 0;
    try {
      const query = { stage, offset };
      for await (const { event, data } of await client.followRevisionLogs(deploymentId, revisionId, query, {
        signal,
      })) {
        if (event === 'end') return;
        if (event !== 'log') continue;
        const line = Line.safeParse(data).data;
        if (line === undefined) throw new SlipwayError('SLIPWAY_BAD_ANSWER', NO_LINE, { place: revisionId });
        offset = line.id;
        yield lineOf(line);
      }
    } catch (error) {
      if (isAborted(signal)) return;
      if (!(error instanceof ServiceError) || !PASSING.includes(error.code)) throw error;
      askedMs = error.retryAfterMs ?? 0;
    }
    await pause(Math.max(askedMs, REOPEN_AFTER_MS), signal);
  }
}

/** A function, so that TypeScript does not assume an earlier result: the signal may have been aborted since. */
function isAborted({ aborted }: AbortSignal): boolean {
  return aborted;
}
