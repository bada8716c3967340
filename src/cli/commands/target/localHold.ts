import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { makeHome } from '../../../config/home.ts';
import type { Actor } from '../../../domain/actor.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { exactText, type Instant, isRecord } from '../../../domain/scalars.ts';
import { type TargetSpec, targetWorkflowId } from '../../../domain/target/targetSpec.ts';

/** A hold that `rollback --break-glass` left on this machine. `slipway release` refuses until `slipway unhold`. */
export interface LocalHold {
  readonly target: string;
  readonly since: Instant;
  readonly by: Actor;
  /** The restored revision. */
  readonly to: string;
}

/** The hold of a target on this machine; `undefined`: none. */
export async function readLocalHold(home: string, target: TargetSpec): Promise<LocalHold | undefined> {
  const file = holdFile(home, target);
  try {
    const hold: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (isHold(hold)) return hold;
    throw new Error('it has no time or no person');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    // An unreadable hold still counts: a person set it for a reason.
    const what = `the hold of "${target.name}" could not be read`;
    const hint = `read the file, or remove it: slipway unhold ${target.name}`;
    throw new SlipwayError('SLIPWAY_TARGET_ON_HOLD', what, { place: file, hint, cause: error });
  }
}

function isHold(value: unknown): value is LocalHold {
  if (!isRecord(value) || !isRecord(value['by'])) return false;
  return typeof value['since'] === 'string' && typeof value['by']['who'] === 'string';
}

/**
 * Writes a hold that only its owner can read.
 * @returns `false` if there is a hold already, which stays.
 */
export async function writeLocalHold(home: string, target: TargetSpec, hold: LocalHold): Promise<boolean> {
  await makeHome(home);
  await mkdir(join(home, 'holds'), { recursive: true, mode: 0o700 });
  let file: FileHandle;
  try {
    file = await open(holdFile(home, target), 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  // On a full disk the file stays empty, and is a hold all the same.
  await file.writeFile(`${JSON.stringify(hold, null, 2)}\n`).catch(() => undefined);
  await file.close();
  return true;
}

export async function removeLocalHold(home: string, target: TargetSpec): Promise<boolean> {
  try {
    await rm(holdFile(home, target));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

export function describeHold({ since, by }: Pick<LocalHold, 'since' | 'by'>): string {
  return `on hold since ${exactText(since)}, set by ${by.who}: ${by.reason ?? 'no reason given'}`;
}

export function onHoldText(target: string): string {
  return `"${target}" is on hold: it rejects releases until "slipway unhold ${target}"`;
}

/** Not named by the target's name, because another project's target in this home may have the same. */
function holdFile(home: string, target: TargetSpec): string {
  const digest = createHash('sha256').update(targetWorkflowId(target)).digest('hex');
  return join(home, 'holds', `${digest}.json`);
}
