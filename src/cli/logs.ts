import type { ControlPlaneClient } from '../clients/controlPlane.ts';
import { loadConfig } from '../config/loadConfig.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { CommandContext } from './context.ts';
import { onInterruption } from './interruption.ts';
import { followLog } from './logs/followLog.ts';
import { logEnd, type LogStage } from './logs/revisionLog.ts';
import { sayLine } from './logs/sayLine.ts';
import { type ChosenTarget, chooseTargetSpec, findDeployment, withControlPlane } from './targetAccess.ts';

/** The options of `slipway logs [TARGET]`. */
export interface LogsOptions {
  readonly config?: string;
  /** The revision. Default: the newest. */
  readonly revision?: string;
  /** Default: both. */
  readonly stage?: LogStage;
  /** How many of the last lines are shown. */
  readonly tail: number;
  /** Go on with the lines to come. */
  readonly follow?: boolean;
}

/**
 * `slipway logs [TARGET]`: what a revision wrote while it was built and while it served, from the control plane.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_NOT_FOUND, SLIPWAY_SECRET_MISSING, and the control plane's own.
 */
export async function runLogsCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: LogsOptions,
): Promise<number> {
  const { config } = await loadConfig(options.config);
  const target = await chooseTargetSpec(context, config, wanted);
  const interruption = onInterruption();
  try {
    await withControlPlane(context, target.spec, (client) =>
      tellLog(context, client, target, options, interruption.signal),
    );
    return 0;
  } finally {
    interruption.release();
  }
}

async function tellLog(
  { output }: CommandContext,
  client: ControlPlaneClient,
  { name: target, spec }: ChosenTarget,
  { revision, stage, tail, follow = false }: LogsOptions,
  signal: AbortSignal,
): Promise<void> {
  const deployment = await findDeployment(client, spec);
  const revisionId = revision ?? deployment.latest_revision_id;
  if (revisionId === null) {
    throw new SlipwayError('SLIPWAY_NOT_FOUND', `the deployment of "${target}" has no revision`, {
      place: deployment.id,
    });
  }
  const of = { deploymentId: deployment.id, revisionId };
  const about = { target, revisionId };
  const { lines, after } = await logEnd(client, of, stage, tail);
  for (const line of lines) sayLine(output, about, line);
  if (!follow) {
    if (lines.length === 0) output.note(`revision ${revisionId} has written nothing`);
    return;
  }
  if (after === undefined) {
    throw new SlipwayError('SLIPWAY_USAGE', 'this control plane’s logs cannot be followed', {
      place: '--follow',
    });
  }
  for await (const line of followLog(client, of, stage, after.offset, signal)) sayLine(output, about, line);
}
