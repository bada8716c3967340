import { pageLink, releaseAddress } from '../../domain/dashboard/addresses.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { FinalAnswer } from '../../domain/target/targetState.ts';
import { newestBuildLines } from '../../inspection/deployment/revisionLog.ts';
import { type Ending, follow } from '../../temporal/client/release/follow.ts';
import { pause } from '../../temporal/client/pause.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { printFailedRevision } from '../commands/logs/printRevisionLog.ts';
import type { CommandContext } from '../context.ts';
import type { Output } from '../output.ts';
import type { Session } from '../session.ts';
import {
  answerEnding,
  type Asked,
  endedOf,
  endingExitCode,
  endingLines,
  type Links,
} from '../ui/endingText.ts';
import { FollowView } from './followView.ts';
import { GAVE_UP, printGaveUp, whileItContinues } from './stopFollowing.ts';

export interface Followed {
  /** A release's id, or a rollback's request id. */
  readonly id: string;
  readonly asked: Asked;
  readonly targetName: string;
  readonly spec: TargetSpec;
  readonly workflowId: string;
  readonly timeoutMs: number;
  /** Called at the end, before anything is printed about it. */
  readonly onEnd?: () => void;
  /** Called when Ctrl-C stops the following; returns its result as text. Default: nothing; the release continues. */
  readonly onStopped?: () => Promise<string>;
}

/** How following ended. Without an ending, the command stopped following, and the release continues. */
export interface FollowedToEnd {
  readonly exitCode: 0 | 2 | 3 | 4 | 5;
  readonly ending: Ending | undefined;
  /** Why the command stopped following, and what happens to the release. */
  readonly gaveUp?: string;
  /** The target's answer to a rollback that needs no work. */
  readonly answer?: FinalAnswer;
}

/**
 * Follows a release or a rollback to its end and shows it live. Ctrl-C and the timeout end only the following. The last
 * line then says that the release continues, or what `onStopped` returns.
 * @throws CodedError with the exit code 5 if Temporal's answers can no longer be read.
 */
export async function followToEnd(
  session: Session,
  { id, asked, targetName, spec, workflowId, timeoutMs, onEnd, onStopped }: Followed,
): Promise<FollowedToEnd> {
  const { output, temporal, signal } = session;
  const view = new FollowView(output, targetName, asked);
  let child: string | undefined;
  let latest: Progress | undefined;
  const ended = new AbortController();
  const tail = tailBuildLog(
    session,
    spec,
    () => latest,
    (lines) => view.showBuildLog(lines),
    ended.signal,
  );
  try {
    for await (const event of follow(temporal, workflowId, { id, timeoutMs, signal })) {
      view.show(event);
      if (event.kind === 'progress') latest = event.progress;
      if (event.kind === 'started') child = event.workflowId;
      if (event.kind === 'ended') {
        const { ending } = event;
        const exitCode = endingExitCode(asked, ending);
        const { settings } = temporal;
        const links = {
          dashboardUrl: pageLink(settings.dashboard, releaseAddress(workflowId, endedOf(ending).releaseId)),
          workflowUrl: workflowPage(settings, child ?? workflowId),
        };
        onEnd?.();
        if (ending.from === 'result')
          await printFailedRevision(session, { name: targetName, spec }, ending.result);
        printEnding(output, ending, exitCode, links);
        for (const line of endingLines(asked, ending, links, output.style)) output.print(line);
        return { exitCode, ending };
      }
      if (event.kind === 'answered') {
        const { answer } = event;
        return { exitCode: answerEnding(answer).exitCode, ending: undefined, answer };
      }
      if (event.kind === 'gave_up') {
        const { why } = event;
        const said = why === 'stopped' ? await onStopped?.() : undefined;
        const became = said ?? `the ${asked} continues`;
        const gaveUp = printGaveUp(output, why, `slipway status ${targetName}`, became);
        return { exitCode: GAVE_UP, ending: undefined, gaveUp };
      }
    }
    throw new Error('following ended without an end');
  } catch (error) {
    throw whileItContinues(error, asked, `slipway watch ${targetName}`);
  } finally {
    view.close();
    ended.abort();
    await tail;
  }
}

function printEnding(output: Output, ending: Ending, exitCode: number, links: Links): void {
  const { releaseId, outcome, reason } = endedOf(ending);
  output.event({
    event: 'ended',
    releaseId,
    outcome,
    reason,
    exitCode,
    ...links,
    result: ending.from === 'result' ? ending.result : null,
    row: ending.from === 'history' ? ending.row : null,
  });
}

/** The fields of `ended` for a release that was not followed. */
export const UNFOLLOWED = { workflowUrl: null, dashboardUrl: null, result: null, row: null } as const;

const LOOK_MS = 2_000;

/**
 * Reads the newest lines of the build log every 2 s. It runs beside the code that follows the release, so a slow
 * control plane does not delay it.
 */
async function tailBuildLog(
  context: CommandContext,
  spec: TargetSpec,
  latest: () => Progress | undefined,
  show: (lines: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const hasEnded = (): boolean => signal.aborted;
  while (!hasEnded()) {
    const progress = latest();
    const lines = progress === undefined ? [] : await newestBuildLines(context, spec, progress, signal);
    if (!hasEnded()) show(lines);
    await pause(LOOK_MS, signal);
  }
}
