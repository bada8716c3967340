import { createReadStream } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../../../domain/scalars.ts';
import { type JsonLine, jsonLines } from '../../../judge/jsonLines.ts';
import type { EventOf } from '../../events/index.ts';

export type FileLine = Pick<EventOf<'release_log'>, 'message' | 'timestamp' | 'revisionId'>;

/**
 * The lines of a log of a `slipway dev` service that contain one of several texts, oldest first.
 * @param about - the id of a release's workflow, or of a revision.
 * @throws the file system's error if the file cannot be read.
 */
export async function logFileLines(
  home: string,
  service: 'worker' | 'platform',
  about: readonly string[],
): Promise<readonly FileLine[]> {
  const lines: FileLine[] = [];
  for await (const line of jsonLines(createReadStream(join(home, 'logs', `${service}.log`)))) {
    if (about.some((text) => line.text.includes(text))) lines.push(readLine(line));
  }
  return lines;
}

/** Fields that every line has, or that only programs need. */
const UNSHOWN: ReadonlySet<string> = new Set([
  'level',
  'time',
  'msg',
  'err',
  'release',
  'target',
  'revision',
  'deployment',
  'workflowId',
  'namespace',
  'taskQueue',
  'runId',
  'workflowType',
  'activityId',
  'activityType',
  'isLocal',
  'sdkComponent',
  'trace_id',
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
