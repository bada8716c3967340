import { userInfo } from 'node:os';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a variable, without white space around it; `undefined` if it is empty or not set. */
export function setting(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim();
  return text === '' ? undefined : text;
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return 'unknown';
  }
}
