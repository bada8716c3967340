import { whoAndWhy } from '../../domain/actor.ts';
import { pageLink, releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { tookText } from '../../domain/duration.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import { restoredRevisions } from '../../domain/release/restored.ts';
import type { Ending } from '../../temporal/client/release/follow.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { type Followed, type FollowedToEnd, followToEnd } from '../follow/followToEnd.ts';
import type { Session } from '../session.ts';
import {
  type Asked,
  endedOf,
  endingExitCode,
  type Links,
  onPageLines,
  outcomeWords,
} from '../ui/endingText.ts';
import { checksSection, code, type Fact, factsTable, stepsSection, summaryOf } from './markdown.ts';
import { annotateEnd, inSection, type Outputs, reportInCi, writeJobSummary } from './reportInCi.ts';

/**
 * Follows a release or a rollback to its end, as {@link followToEnd} does. In CI, its steps are a foldable section of
 * the log, and an unwanted outcome annotates the run. On GitHub it also writes the job summary and the step outputs.
 */
export async function followInCi(session: Session, followed: Followed): Promise<FollowedToEnd> {
  const { asked, targetName, id, workflowId } = followed;
  const end = await inSection(session, `${asked} on ${targetName}, step by step`, (close) =>
    followToEnd(session, { ...followed, onEnd: close }),
  );
  if (end.ending !== undefined) await reportRun(session, followed, end.ending);
  if (end.gaveUp !== undefined) {
    const isRelease = asked === 'release';
    const address = isRelease ? releaseAddress(workflowId, id) : targetAddress(workflowId);
    await reportInCi(session, {
      exitCode: end.exitCode,
      title: `${isRelease ? id : asked} on ${targetName}: not watched to its end`,
      why: [end.gaveUp, ...onPageLines(pageLink(session.temporal.settings.dashboard, address))],
      outputs: isRelease ? { 'release-id': id } : {},
    });
  }
  return end;
}

async function reportRun(
  session: Session,
  { asked, targetName: target, workflowId }: Followed,
  ending: Ending,
): Promise<void> {
  const { releaseId, outcome, reason } = endedOf(ending);
  const exitCode = endingExitCode(asked, ending);
  annotateEnd(session, exitCode, `${releaseId} on ${target}: ${outcomeWords(outcome)}`, reason);
  const { settings } = session.temporal;
  const links = {
    dashboardUrl: pageLink(settings.dashboard, releaseAddress(workflowId, releaseId)),
    workflowUrl: workflowPage(settings, `${workflowId}/${releaseId}`),
  };
  await writeJobSummary(session, jobSummary({ asked, target, ending, ...links }), outputs(ending));
}

function outputs(ending: Ending): Outputs {
  const { releaseId, outcome, servingRevisionId } = endedOf(ending);
  const agentUrl = ending.from === 'result' ? ending.result.agentUrl : null;
  return {
    'release-id': releaseId,
    outcome,
    'serving-revision-id': servingRevisionId ?? '',
    'agent-url': agentUrl ?? '',
  };
}

interface Summarized extends Links {
  readonly asked: Asked;
  readonly target: string;
  readonly ending: Ending;
}

export function jobSummary({ asked, target, ending, ...links }: Summarized): string {
  const { releaseId, outcome, reason } = endedOf(ending);
  const sections =
    ending.from === 'result'
      ? resultTables(ending.result, links)
      : factsTable([['page', links.dashboardUrl]]);
  const title = `${releaseId} on ${target}: ${outcomeWords(outcome)}`;
  return summaryOf(endingExitCode(asked, ending), title, [reason], sections);
}

function resultTables(result: ReleaseResult, { dashboardUrl, workflowUrl }: Links): readonly string[] {
  const { instructions } = result;
  const facts: readonly Fact[] = [
    ['took', tookText(result)],
    ['asked by', whoAndWhy(result.requestedBy)],
    ['artifact', code(result.artifact)],
    ['commit', code(result.commit)],
    ['before', code(result.baseline?.revisionId ?? null)],
    ['made', code(result.revisionId)],
    ['restored', code(restoredRevisions(result).at(-1)?.revisionId ?? null)],
    ['serves', servesText(result)],
    ['code', code(result.code)],
    ['agent', result.agentUrl],
    ['page', dashboardUrl],
    ['Temporal', workflowUrl],
  ];
  return [
    ...factsTable(facts),
    ...(instructions === null ? [] : ['### A person is needed', '', '```', instructions, '```', '']),
    ...stepsSection(result.steps, result.endedAt),
    ...checksSection(result.verdicts),
  ];
}

function servesText({ servingRevisionId, servingVerified }: ReleaseResult): string | null {
  if (servingRevisionId === null) return null;
  return `\`${servingRevisionId}\`, ${servingVerified ? 'verified' : 'unverified'}`;
}
