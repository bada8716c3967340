import { loadConfig } from '../../../config/loadConfig.ts';
import { nameAndMark } from '../../../domain/actor.ts';
import { shortArtifact, shortCommit } from '../../../domain/artifact/artifact.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/scalars.ts';
import type { PastRelease } from '../../../domain/release/pastRelease.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { pastReleases } from '../../../temporal/client/release/pastReleases.ts';
import { ifSealed } from '../../../temporal/client/temporalError.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { outcomeCell } from '../../ui/endingText.ts';
import { agoText, type Cell, type Screen, tableLines } from '../../ui/text.ts';
import { FORGOTTEN, releasesOfForgotten } from '../target/forgottenTarget.ts';
import { type ChosenTarget, chooseTargetSpecs } from '../target/targetAccess.ts';

/**
 * `slipway history [TARGET]`: the releases and rollbacks of a target, newest first. Without a name: of every target of
 * the file. If a target does not answer, it reads the histories in Temporal.
 */
export async function runHistoryCommand(
  context: CommandContext,
  wanted: string | undefined,
  { config: path, last }: FileOptions & { readonly last: number },
): Promise<void> {
  const { targets, problem } = await chooseTargetSpecs(context, await loadConfig(path), wanted);
  return withTemporal(context, async (temporal) => {
    let sealed: SlipwayError | undefined;
    for (const target of targets) {
      const unread = await printHistory(context, temporal, target, last);
      sealed ??= unread;
    }
    const failed = sealed ?? problem;
    if (failed !== undefined) throw failed;
  });
}

/** @returns the error if the key of the target's payloads is missing, which must hide no other target. */
export async function printHistory(
  context: CommandContext,
  temporal: TemporalConnection,
  target: Omit<ChosenTarget, 'settings' | 'spec'>,
  last: number,
): Promise<SlipwayError | undefined> {
  const { output } = context;
  const { name, workflowId } = target;
  const past = await pastReleases(temporal, workflowId).catch(ifSealed((error) => error));
  output.print(output.style.strong(name));
  if (past instanceof SlipwayError) {
    output.print(`  ${past.message}`);
    return past;
  }
  const releases = past?.releases.slice(0, last) ?? (await releasesOfForgotten(context, target, last));
  for (const release of releases) output.event({ event: 'past_release', target: name, ...release });
  if (releases.length === 0) output.print('  has never taken a release');
  else {
    const screen = output.screen();
    for (const line of historyLines(releases, { ...screen, columns: screen.columns - 2 }))
      output.print(`  ${line}`);
  }
  if (past === undefined && releases.length > 0) {
    output.warn(
      `${FORGOTTEN}: this list comes from the artifact store; it lacks releases that never started`,
    );
  }
  const why = past?.unanswered ?? null;
  if (why !== null) {
    const kept = 'this list comes from Temporal; it lacks releases that never started';
    output.warn(`${why.message}: ${kept}`);
    if (why.hint !== undefined) output.note(why.hint);
  }
  return undefined;
}

/** The width from which exact times and full artifact names fit, too. */
const WIDE = 125;
/** The width below which artifacts and commits have no room. */
const NARROW = 90;

/** Releases as a table, in the given order. */
export function historyLines(releases: readonly PastRelease[], screen: Screen): readonly string[] {
  const { now, columns, style } = screen;
  const isWide = columns >= WIDE;
  const isNarrow = columns < NARROW;
  const headings = [
    'RELEASE',
    'OUTCOME',
    'WHEN',
    ...(isWide ? ['AT'] : []),
    ...(isNarrow ? [] : ['ARTIFACT', 'COMMIT']),
    'BY',
    'WHY',
  ];
  const rows = releases.map((release): Cell[] => {
    const { releaseId, endedAt, startedAt, commit, requestedBy, reason } = release;
    const at = endedAt ?? startedAt;
    const artifact = release.artifact === null ? '-' : shortArtifact(release.artifact);
    return [
      { text: releaseId, paint: style.strong },
      outcomeCell(release, style),
      at === null ? '' : agoText(at, now),
      ...(isWide ? [{ text: at === null ? '' : exactText(at), paint: style.faint }] : []),
      ...(isNarrow
        ? []
        : [artifact.replace(isWide ? '' : /^sha256:/u, ''), commit === null ? '-' : shortCommit(commit)]),
      nameAndMark(requestedBy),
      [requestedBy.reason, reason].filter(Boolean).join(': '),
    ];
  });
  return tableLines(headings, rows, screen);
}
