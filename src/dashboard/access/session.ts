import { randomBytes } from 'node:crypto';

import { sameSecret } from '@slipway/contract/sameSecret';
import type { Context } from 'hono';
import { z } from 'zod';

import type { Statement } from '../../domain/identity/statement.ts';
import { AccessRefusal } from './accessRefusal.ts';
import type { Address } from './address.ts';

/** What people may do on the page, in ascending order. Each role includes those before it. */
export const ROLES = ['view', 'release', 'admin'] as const;

/** `view`: read. `release`: also control targets and releases. `admin`: also settings that apply to all. */
export type Role = (typeof ROLES)[number];

const Viewer = z.object({
  /** The `who` in the records of releases and targets: an e-mail address, the issuer's subject, or a name. */
  name: z.string(),
  /** Whether an OIDC issuer proved the name; otherwise it is claimed. */
  proved: z.boolean(),
  role: z.enum(ROLES),
});
export type Viewer = Readonly<z.infer<typeof Viewer>>;

/** Whether a person may control targets and releases. */
export function mayRelease({ role }: Pick<Viewer, 'role'>): boolean {
  return role !== 'view';
}

const SESSION_MS = 12 * 3_600_000;

/** The content of a browser's sealed cookie. No process stores sessions, so any process can answer. */
export const Session = z.object({
  /** Absent: the viewer has not signed in. */
  viewer: Viewer.optional(),
  /** The token that every form sends back, so that other sites cannot send forms. */
  csrf: z.string(),
  /** When it ends, in milliseconds since 1970. */
  ends: z.number(),
});
export type Session = Readonly<z.infer<typeof Session>>;

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

export interface PageEnv {
  readonly Variables: {
    /** Of the page in the browser. */
    readonly address: Address;
    readonly viewer: Viewer;
    readonly session: Session;
    readonly prove: KeepProof;
  };
}

/**
 * Stores a proof of identity in an artifact store. @returns the record's name.
 * @throws SlipwayError SLIPWAY_IDENTITY_UNPROVED if the browser has no ID token; SLIPWAY_ARTIFACT_STORE_….
 */
export type KeepProof = (store: string, statement: Statement) => Promise<string>;

/** The form field that carries the session's token. */
export const CSRF_FIELD = 'csrf';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a changing request unless a page of this address sent it with the session's token.
 * @throws AccessRefusal SLIPWAY_CROSS_SITE_REQUEST (403).
 */
export async function refuseCrossSite(c: Context<PageEnv>, session: Session): Promise<void> {
  if (SAFE_METHODS.has(c.req.method)) return;
  const isOwn = isSameOrigin(c, c.get('address').origin);
  const sent = isOwn ? await formFields(c) : {};
  if (isOwn && sameSecret(sent[CSRF_FIELD] ?? '', session.csrf)) return;
  const what = isOwn
    ? 'nothing was done: your session has ended or changed since this form was shown'
    : 'the request came from another site';
  const hint = 'open the form again, and send it once more';
  throw new AccessRefusal(403, 'SLIPWAY_CROSS_SITE_REQUEST', what, { hint, written: sent['reason'] });
}

/** Whether the browser reports that the request came from this origin. A page's scripts can set neither header. */
function isSameOrigin(c: Context, origin: string): boolean {
  const site = c.req.header('sec-fetch-site');
  return site === undefined ? c.req.header('origin') === origin : site === 'same-origin';
}

/** The texts of a form; none if the request has another body. */
export async function formFields(c: Context): Promise<Readonly<Record<string, string>>> {
  const fields = Object.entries(await c.req.parseBody());
  return Object.fromEntries(
    fields.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
