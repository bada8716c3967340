import { createReadStream } from 'node:fs';
import { join } from 'node:path';

import { errorText } from '@slipway/contract/codedError';

import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import { removeSecrets } from '../../../clients/removeSecrets.ts';
import { knownSecrets } from '../../../config/secretReference.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { Progress, ReleaseResult } from '../../../domain/release/release.ts';
import { isRecord } from '../../../domain/scalars.ts';
import { withControlPlane } from '../../../inspection/deployment/deploymentAccess.ts';
import { logEnd } from '../../../inspection/deployment/revisionLog.ts';
import { findRelease, LATEST, recordOf } from '../../../inspection/release/findRelease.ts';
import { type JsonLine, jsonLines } from '../../../judge/jsonLines.ts';
import { pause } from '../../../temporal/client/pause.ts';
import { fetchHistory } from '../../../temporal/history/fetchHistories.ts';
import { historyLines } from '../../../temporal/history/historyLines.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';

type ReleaseLine = Pick<EventOf<'release_log'>, 'source' | 'revisionId' | 'message' | 'timestamp'>;

interface ReleaseLog {
  readonly releaseId: string;
  /** Oldest first. */
  readonly lines: readonly ReleaseLine[];
  readonly problems: readonly { readonly source: string; readonly problem: string }[];
  readonly hasEnded: boolean;
  /** Why Temporal could not be read, and neither is there a record of the release. */
  readonly unknown: SlipwayError | undefined;
}

interface Asked {
  readonly target: ChosenTarget;
  /** Its id, or `latest`. */
  readonly release: string;
  readonly tail: number;
}

const LOOK_AGAIN_MS = 1_000;

/**
 * Prints what all processes logged about a release, and which sources could not be read.
 * @param follow - prints new lines until it is aborted, or the release has ended. Absent: only existing lines.
 */
export async function printReleaseLog(
  context: CommandContext,
  asked: Asked,
  follow?: AbortSignal,
): Promise<void> {
  const { output, environment } = context;
  const secrets = knownSecrets(asked.target.spec, environment);
  const printed = new Map<string, number>();
  const problems = new Set<string>();
  // `latest` is resolved once: a newer release must not replace the followed one.
  for (let { release, tail } = asked; ; tail = Infinity) {
    const log = await readReleaseLog(context, { ...asked, release });
    release = log.releaseId;
    for (const { source, problem } of log.problems) {
      if (problems.has(source)) continue;
      problems.add(source);
      output.event({ event: 'log_source', source, problem });
      output.warn(`${source}: ${problem}`);
    }
    const fresh = unprinted(log.lines, printed);
    for (const line of fresh.slice(-tail)) printLine(context, asked, log.releaseId, line, secrets);
    if (log.unknown !== undefined && log.lines.length === 0) throw log.unknown;
    if (follow === undefined && log.lines.length === 0) output.note(`no line about ${log.releaseId}`);
    if (follow === undefined || log.hasEnded) return;
    await pause(LOOK_AGAIN_MS, follow);
    if (follow.aborted) return;
  }
}

/** The lines that are new since the last read. A source may repeat a line: each repetition counts. */
function unprinted(lines: readonly ReleaseLine[], printed: Map<string, number>): readonly ReleaseLine[] {
  const counts = new Map<string, number>();
  const fresh = lines.filter(({ source, timestamp, message }) => {
    const key = `${source} ${timestamp ?? ''} ${message}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count > (printed.get(key) ?? 0);
  });
  for (const [key, count] of counts) printed.set(key, Math.max(count, printed.get(key) ?? 0));
  return fresh;
}

const SOURCE_WIDTH = 'temporal'.length;

function printLine(
  { output }: CommandContext,
  { target }: Asked,
  releaseId: string,
  { source, revisionId, message: written, timestamp }: ReleaseLine,
  secrets: readonly string[],
): void {
  const message = removeSecrets(written, secrets).trimEnd();
  const line = { source, revisionId, message, timestamp };
  output.event({ event: 'release_log', target: target.name, releaseId, ...line });
  const time =
    timestamp === null ? ' '.repeat('hh:mm:ss.sss'.length) : new Date(timestamp).toISOString().slice(11, 23);
  output.print(`${output.style.faint(`${time} ${source.padEnd(SOURCE_WIDTH)}`)} ${message}`);
}

/**
 * Reads what all processes logged about a release: Temporal's history, the log files of the services of `slipway dev`, and
 * the log of each revision that it made.
 */
async function readReleaseLog(context: CommandContext, asked: Asked): Promise<ReleaseLog> {
  const { target } = asked;
  const problems: { source: string; problem: string }[] = [];
  const orNone = async <T>(source: string, read: () => Promise<readonly T[]>): Promise<readonly T[]> => {
    try {
      return await read();
    } catch (error) {
      problems.push({ source, problem: problemOf(error) });
      return [];
    }
  };
  const temporal = await fromTemporal(context, asked, problems);
  const { result, releaseId = result?.releaseId ?? asked.release } = temporal;
  const about = result ?? temporal.progress ?? undefined;
  const revisions = revisionsOf(about);
  const workflowId = `${target.workflowId}/${releaseId}`;
  const logOf = (service: 'worker' | 'platform'): Promise<readonly ReleaseLine[]> =>
    orNone(service, async () => {
      const lines = await logFileLines(context.home, service, { workflowId, revisions });
      return lines.map((line) => ({ source: service, ...line }));
    });
  const files = await Promise.all([logOf('worker'), logOf('platform')]);
  const { deploymentId = null } = about ?? {};
  const written =
    deploymentId === null || revisions.length === 0
      ? []
      : await orNone('control plane', () =>
          withControlPlane(context, target.spec, async (client) => {
            const logs = revisions.map((id) => revisionLines(client, deploymentId, id, asked.tail));
            return (await Promise.all(logs)).flat();
          }),
        );
  // A serving agent keeps logging after the release has ended.
  const endedAt = result === null ? Infinity : Date.parse(result.endedAt);
  const own = written.filter(
    ({ source, timestamp }) => source !== 'deploy' || timestamp === null || Date.parse(timestamp) <= endedAt,
  );
  const lines = inOrder([temporal.lines, ...files, own]);
  return { releaseId, lines, problems, hasEnded: result !== null, unknown: temporal.unknown };
}

interface OfTemporal {
  readonly releaseId: string | undefined;
  readonly lines: readonly ReleaseLine[];
  readonly result: ReleaseResult | null;
  readonly progress: Progress | null;
  readonly unknown?: SlipwayError;
}

const OF_TEMPORAL = { source: 'temporal', revisionId: null } as const;

async function fromTemporal(
  context: CommandContext,
  { target, release }: Asked,
  problems: { source: string; problem: string }[],
): Promise<OfTemporal> {
  const store = target.openStore();
  try {
    return await withTemporal(context, async (temporal) => {
      const { past, result, progress, from } = await findRelease(temporal, store, target, release);
      const workflowId = `${target.workflowId}/${past.releaseId}`;
      const history = from === 'temporal' ? await fetchHistory(temporal, workflowId) : undefined;
      if (history === undefined)
        problems.push({ source: 'temporal', problem: `it has no history of ${past.releaseId}` });
      const lines = history === undefined ? [] : historyLines(history);
      return {
        releaseId: past.releaseId,
        lines: lines.map(({ at: timestamp, message }) => ({ ...OF_TEMPORAL, message, timestamp })),
        result,
        progress,
      };
    });
  } catch (error) {
    if (!(error instanceof SlipwayError) || error.code === 'SLIPWAY_RELEASE_UNKNOWN') throw error;
    problems.push({ source: 'temporal', problem: problemOf(error) });
    const result = await recordOf(store, target, release === LATEST ? undefined : release);
    // Which release is the newest is not known.
    if (result === undefined && release === LATEST) throw error;
    const unknown = result === undefined ? error : undefined;
    return { releaseId: undefined, lines: [], result: result ?? null, progress: null, unknown };
  }
}

function revisionsOf(about: ReleaseResult | Progress | undefined): readonly string[] {
  if (about === undefined) return [];
  const made = 'outcome' in about && 'copyRevisionIds' in about ? (about.copyRevisionIds ?? []) : [];
  const extra = 'extraRevisionIds' in about ? about.extraRevisionIds : [];
  const ids = [about.revisionId, ...made, ...extra];
  return [...new Set(ids.filter((id) => id !== null))];
}

async function revisionLines(
  client: ControlPlaneClient,
  deploymentId: string,
  revisionId: string,
  count: number,
): Promise<readonly ReleaseLine[]> {
  const { lines } = await logEnd(client, { deploymentId, revisionId }, undefined, count);
  return lines.map(({ stage, ...line }) => ({ source: stage, revisionId, ...line }));
}

function problemOf(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path !== undefined)
    return `there is no ${path}; a worker or platform that "slipway dev" did not start here logs on its own stderr`;
  return errorText(error);
}

/** Merges lines of several sources by time. A line without a time stays after its source's previous line. */
function inOrder(sources: readonly (readonly ReleaseLine[])[]): readonly ReleaseLine[] {
  const timed = sources.flatMap((lines) => {
    let at = 0;
    return lines.map((line) => {
      if (line.timestamp !== null) at = Date.parse(line.timestamp);
      return { at, line };
    });
  });
  return timed.sort((one, other) => one.at - other.at).map(({ line }) => line);
}

type FileLine = Omit<ReleaseLine, 'source'>;

/**
 * The lines of a log of a `slipway dev` service about a release, oldest first: those that contain the id of its workflow
 * or of one of its revisions. Those of other releases of its target are not, even if they read these revisions.
 * @throws the file system's error if the file cannot be read.
 */
export async function logFileLines(
  home: string,
  service: 'worker' | 'platform',
  { workflowId, revisions }: { readonly workflowId: string; readonly revisions: readonly string[] },
): Promise<readonly FileLine[]> {
  const about = [workflowId, ...revisions];
  const siblings = workflowId.slice(0, workflowId.lastIndexOf('/') + 1);
  const isOfAnother = ({ value }: JsonLine): boolean => {
    const of = isRecord(value) ? value['workflowId'] : undefined;
    return typeof of === 'string' && of !== workflowId && of.startsWith(siblings);
  };
  const lines: FileLine[] = [];
  for await (const line of jsonLines(createReadStream(join(home, 'logs', `${service}.log`)))) {
    if (about.some((text) => line.text.includes(text)) && !isOfAnother(line)) lines.push(readLine(line));
  }
  return lines;
}

/** Fields that every line has, or that only programs need. */
const UNSHOWN: ReadonlySet<string> = new Set([
  ...['level', 'time', 'msg', 'err', 'release', 'target', 'revision', 'deployment', 'isLocal', 'runId'],
  ...['workflowId', 'workflowType', 'activityId', 'activityType', 'namespace', 'taskQueue'],
  ...['sdkComponent', 'trace_id'],
]);

function readLine({ text, value: said }: JsonLine): FileLine {
  if (!isRecord(said)) return { message: text, timestamp: null, revisionId: null };
  const { msg, time, err, revision } = said;
  const fields = Object.entries(said).flatMap(([name, value]) =>
    UNSHOWN.has(name) || (typeof value === 'object' && value !== null) ? [] : [`${name}=${String(value)}`],
  );
  const failed = isRecord(err) && typeof err['message'] === 'string' ? [`: ${err['message']}`] : [];
  return {
    message: [`${typeof msg === 'string' ? msg : ''}${failed.join('')}`, ...fields].join(' '),
    timestamp: typeof time === 'string' ? time : null,
    revisionId: typeof revision === 'string' ? revision : null,
  };
}
