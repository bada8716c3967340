import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** The files in which package managers keep what they log in with, and the lines that do it. */
const LOGINS: Readonly<Record<string, RegExp>> = {
  '.npmrc': /^\s*(?:[^\s#;=]*:)?_(?:authToken|auth|password)\s*=\s*["']?(?!["']?\$\{)\S/im,
  '.yarnrc.yml': /^\s*["']?npmAuth(?:Token|Ident)["']?\s*:\s*["']?(?!["']?\$\{)\S/m,
};

/**
 * Whether a file is a package manager's configuration with a login written into it. One that only names a variable
 * (`_authToken=${NPM_TOKEN}`) holds no secret.
 */
export async function holdsToken(file: string): Promise<boolean> {
  const login = LOGINS[basename(file).toLowerCase()];
  return login !== undefined && login.test(await readFile(file, 'utf8'));
}
