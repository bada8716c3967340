import type { Context, MiddlewareHandler } from 'hono';

import { AccessRefusal } from './accessRefusal.ts';

/** What people may do on the page, in ascending order. Each role includes those before it. */
export const ROLES = ['view', 'release', 'admin'] as const;

/** `view`: read. `release`: also control targets and releases. `admin`: also settings that apply to all. */
export type Role = (typeof ROLES)[number];

/** The person who uses the page. */
export interface Viewer {
  /** The `who` in the records of releases and targets: an e-mail address, the issuer's subject, or a name. */
  readonly name: string;
  /** Whether an OIDC issuer proved the name; otherwise it is claimed. */
  readonly proved: boolean;
  readonly role: Role;
}

/** Whether a person has a role, or one that includes it. */
export function hasRole({ role }: Pick<Viewer, 'role'>, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

const KEY = 'viewer';

export function setViewer(c: Context, viewer: Viewer): void {
  c.set(KEY, viewer);
}

/** The person who uses the page. Fails on a route without `requireViewer`. */
export function viewerOf(c: Context): Viewer {
  const viewer = c.get(KEY) as Viewer | undefined;
  if (viewer === undefined) throw new Error('A route was reached without asking who looks at it.');
  return viewer;
}

/** Middleware for routes that need a role. @throws AccessRefusal SLIPWAY_ROLE_MISSING (403). */
export function requireRole(needed: Role): MiddlewareHandler {
  return async (c, next) => {
    const viewer = viewerOf(c);
    if (!hasRole(viewer, needed)) {
      const message = `${viewer.name} has the role "${viewer.role}"; this needs the role "${needed}"`;
      throw new AccessRefusal(403, 'SLIPWAY_ROLE_MISSING', message, {
        hint: 'ask the person who runs this page for the role, then sign in again',
      });
    }
    await next();
  };
}
