import { randomBytes } from 'node:crypto';

import { isRecord } from '../../domain/scalars.ts';
import { ROLES, type Viewer } from './viewer.ts';

const SESSION_MS = 12 * 3_600_000;

/** The content of a browser's sealed cookie. No process stores sessions, so any process can answer. */
export interface Session {
  /** Absent: the viewer has not signed in. */
  readonly viewer?: Viewer;
  /** The token that every form sends back, so that other sites cannot send forms. */
  readonly csrf: string;
  /** When it ends, in milliseconds since 1970. */
  readonly ends: number;
}

/**
 * A new session. Each sign-in begins one, so that a session from another person is never continued.
 * @param ends - when it ends at the latest, in milliseconds since 1970.
 */
export function newSession(viewer: Viewer | undefined, ends = Infinity): Session {
  return {
    viewer,
    csrf: randomBytes(24).toString('base64url'),
    ends: Math.min(ends, Date.now() + SESSION_MS),
  };
}

export function isSession(value: unknown): value is Session {
  if (!isRecord(value) || typeof value['csrf'] !== 'string' || typeof value['ends'] !== 'number')
    return false;
  const { viewer } = value;
  return (
    viewer === undefined ||
    (isRecord(viewer) &&
      typeof viewer['name'] === 'string' &&
      typeof viewer['proved'] === 'boolean' &&
      ROLES.some((role) => role === viewer['role']))
  );
}
