import type { Intervention, InterventionKind } from './intervention.ts';
import type { Actor, Preemption, RollbackRequest } from './release.ts';
import { isRevisionId } from './revisionName.ts';

/**
 * Hand-written, zod-free readers of what arrives by raw signal (`temporal workflow signal`), which bypasses every
 * client and validator (design, rule 9). Each returns the message, or a sentence that says what is wrong with it.
 */

/** What a person may send as `rollback`; every field may be missing. */
export interface RollbackMessage {
  readonly requestId?: string;
  /** A revision's id, the beginning of it, or a release's id. */
  readonly to?: string;
  /**
   * The id of the revision to leave: the one that served when the person asked. Without it the worker reads what serves.
   * With it, `to` is no person's choice, and is not restored if a person has left it.
   */
  readonly serving?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** What a person may send as `hold` or `unhold`. */
export interface HoldMessage {
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** What a person may send to a release under way: `abort`, `pause`, `resume`, `approve`, `reject`, `retry`, `skip`. */
export interface InterventionMessage {
  readonly requestId?: string;
  /** What a `skip` leaves out: a check's name, `soak`, `judge`, or `freeze`. Without it nothing is left out. */
  readonly what?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** What a person may send as `withdraw`. */
export interface WithdrawMessage {
  /** The release that waits. Absent, and no submission either: every one that waits. */
  readonly release?: string;
  /** A submission by its id, wherever it has got to: its release waits, runs, or is still to arrive. */
  readonly submission?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

/** What a person may send as `quarantine` or `unquarantine`. */
export interface QuarantineMessage {
  /** An artifact's identity, the beginning of its digest, or a revision that carries it. */
  readonly artifact?: string;
  readonly who?: string;
  readonly from?: string;
  readonly reason?: string;
}

const TEXT_MAX_CHARACTERS = 1_000;
const MESSAGE_FIELDS = [
  'requestId',
  'to',
  'serving',
  'what',
  'release',
  'submission',
  'artifact',
  'who',
  'from',
  'reason',
];

/**
 * Reads a rollback message. Nothing at all is a rollback without a name.
 *
 * @param fallbackId - the request's id where the message has none.
 */
export function readRollbackMessage(
  raw: unknown,
  origin: string,
  fallbackId: string,
): RollbackRequest | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, to, serving } = fields;
  if (serving !== undefined && !isRevisionId(serving)) return '"serving" is not the id of a revision';
  return {
    requestId: requestId ?? fallbackId,
    ...(to === undefined ? {} : { to }),
    ...(serving === undefined ? {} : { from: serving }),
    requestedBy: actor(fields, origin),
  };
}

/**
 * Reads what a target tells a running release: the rollback that it makes way for. The target sends only right ones;
 * a raw signal may send anything.
 */
export function readPreemption(raw: unknown): Preemption | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { requestId, to, from: leaving, goesOn, overtaker, requestedBy } = raw;
  if (!isRecord(requestedBy)) return '"requestedBy" is not an object';
  const { who, from, reason } = requestedBy;
  const request = readRollbackMessage({ requestId, to, who, from, reason }, 'signal', 'preempt');
  if (typeof request === 'string') return request;
  return {
    ...request,
    ...(typeof leaving === 'string' && isRevisionId(leaving) ? { from: leaving } : {}),
    ...(goesOn === true ? { goesOn } : {}),
    ...(typeof overtaker === 'string' ? { overtaker } : {}),
  };
}

/** Reads what a release tells its target: that it is restoring, and which revision first. */
export function readRestoring(
  raw: unknown,
): { readonly releaseId: string; readonly revisionId: string } | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { releaseId, revisionId } = raw;
  if (typeof releaseId !== 'string' || typeof revisionId !== 'string')
    return 'it names no release and revision';
  return { releaseId, revisionId };
}

/** Reads who asked for a hold, or for its end, and why. */
export function readHoldMessage(raw: unknown, origin: string): Actor | string {
  const fields = readTextFields(raw);
  return typeof fields === 'string' ? fields : actor(fields, origin);
}

/**
 * Reads what is said to a release under way.
 *
 * @param fallbackId - its id where the message has none.
 */
export function readInterventionMessage(
  raw: unknown,
  kind: InterventionKind,
  origin: string,
  fallbackId: string,
): Intervention | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, what } = fields;
  return {
    id: requestId ?? fallbackId,
    kind,
    ...(what === undefined ? {} : { what }),
    by: actor(fields, origin),
  };
}

/** What is withdrawn: a submission, or releases that wait (`release: undefined`: all of them), by whom and why. */
export interface Withdrawing {
  readonly release: string | undefined;
  readonly submission: string | undefined;
  readonly by: Actor;
}

/** Reads what is withdrawn. */
export function readWithdrawMessage(raw: unknown, origin: string): Withdrawing | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  return { release: fields['release'], submission: fields['submission'], by: actor(fields, origin) };
}

/** Reads which artifact is meant, by whom and why. */
export function readQuarantineMessage(
  raw: unknown,
  origin: string,
): { readonly artifact: string; readonly by: Actor } | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { artifact } = fields;
  return artifact === undefined
    ? '"artifact" is missing: an identity, the beginning of a digest, or a revision'
    : { artifact, by: actor(fields, origin) };
}

function actor(fields: Readonly<Record<string, string>>, origin: string): Actor {
  const { who, from, reason } = fields;
  return { who: who ?? 'unknown', from: from ?? origin, ...(reason === undefined ? {} : { reason }) };
}

function readTextFields(raw: unknown): Readonly<Record<string, string>> | string {
  if (raw === undefined || raw === null) return {};
  if (!isRecord(raw)) return 'the message is not an object';
  const fields: Record<string, string> = {};
  for (const name of MESSAGE_FIELDS) {
    const value = raw[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `"${name}" is not text`;
    const text = value.trim();
    if (text.length > TEXT_MAX_CHARACTERS)
      return `"${name}" is longer than ${TEXT_MAX_CHARACTERS} characters`;
    if (text !== '') fields[name] = text;
  }
  return fields;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
