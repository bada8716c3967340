import { SECRET_REFERENCE } from '@slipway/contract/secretReference';

import { SlipwayError } from '../domain/errors.ts';
import { resolveSecret } from './secretReference.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a variable, without white space around it; `undefined` if it is empty or not set. */
export function setting(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim();
  return text === '' ? undefined : text;
}

/** The secret of a variable: its text, or what that refers to (`env:NAME`, `file:/absolute/path`). */
export function secretSetting(environment: Environment, name: string): string | undefined {
  const text = setting(environment, name);
  return text !== undefined && SECRET_REFERENCE.test(text)
    ? resolveSecret({ from: text }, environment)
    : text;
}

/** The fewest characters of a key. Shorter ones could be guessed. */
const SHORTEST_KEY = 16;

/** The {@link secretSetting} that protects a server of Slipway. @throws SLIPWAY_USAGE if it is too short. */
export function keySetting(environment: Environment, name: string): string | undefined {
  const key = secretSetting(environment, name);
  if (key === undefined || key.length >= SHORTEST_KEY) return key;
  throw new SlipwayError('SLIPWAY_USAGE', `${name} is shorter than ${SHORTEST_KEY} characters`, {
    place: name,
    hint: `make one: ${name}="$(openssl rand -hex 24)"`,
  });
}
