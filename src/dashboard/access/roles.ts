import { readFile } from 'node:fs/promises';

import { parse } from 'yaml';
import { z } from 'zod';

import { SlipwayError } from '../../domain/errors.ts';
import { type Claims, verifiedEmail } from '../../identity/proof.ts';
import { type Role, ROLES } from './session.ts';

const RoleField = z.enum(ROLES);

const RoleFile = z.strictObject({
  /** The role of people whom the file does not name. `none`: the page refuses them. */
  default: z.enum([...ROLES, 'none']).default('view'),
  /** By e-mail address. */
  people: z.record(z.string().min(1), RoleField).default({}),
  /** By the group's name in the claim. */
  groups: z.record(z.string().min(1), RoleField).default({}),
});

export type RoleFile = z.infer<typeof RoleFile>;

export interface RoleSource {
  /** The claim with a person's roles, or, if there is a file, with their groups. */
  readonly claim: string;
  readonly file?: RoleFile;
}

export async function readRoleFile(path: string): Promise<RoleFile> {
  try {
    return RoleFile.parse(parse(await readFile(path, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    const what = `the file of roles cannot be used: ${why}`;
    const hint = 'docs/sign-in.md describes its fields';
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', what, { place: path, hint, cause: error });
  }
}

/**
 * A person's highest role. Without a file: of the roles in the claim, `view` if it has none. With a file: of the roles
 * that it gives to their e-mail address and their groups. `undefined`: the file refuses them.
 */
export function roleOf({ claim, file }: RoleSource, claims: Claims): Role | undefined {
  const named = textsIn(claims[claim]);
  if (file === undefined) return highest(named) ?? 'view';
  const email = verifiedEmail(claims)?.toLowerCase();
  const ofPerson = Object.entries(file.people).filter(([address]) => address.toLowerCase() === email);
  const ofGroups = Object.entries(file.groups).filter(([group]) => named.includes(group));
  const role = highest([...ofPerson, ...ofGroups].map(([, given]) => given));
  return role ?? (file.default === 'none' ? undefined : file.default);
}

function highest(roles: readonly string[]): Role | undefined {
  return ROLES.findLast((role) => roles.includes(role));
}

function textsIn(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
}
