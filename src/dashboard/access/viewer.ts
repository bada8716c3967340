/** What a viewer may do; each role includes those before it. */
export const ROLES = ['view', 'release', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** Who looks at the page. */
export interface Viewer {
  /** As it stands in records of what the viewer asks for. */
  readonly name: string;
  /** Whether an identity provider vouches for the name. */
  readonly proved: boolean;
  readonly role: Role;
}
