/** What people may do on the page, in ascending order. Each role includes those before it. */
export const ROLES = ['view', 'release', 'admin'] as const;

/** `view`: read. `release`: also control targets and releases. `admin`: also settings that apply to all. */
export type Role = (typeof ROLES)[number];

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
