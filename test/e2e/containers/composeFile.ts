import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A service as docker-compose.yml has it: the fields that this repository uses, and no others. */
export interface Service {
  readonly profiles?: readonly string[];
  readonly build?: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly networks: Readonly<
    Record<string, { readonly ipv4_address?: string; readonly aliases?: string[] } | null>
  >;
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: 'service_healthy' }>>;
  readonly healthcheck: {
    readonly test: readonly string[];
    readonly interval: string;
    readonly timeout: string;
    readonly retries: number;
    readonly start_period: string;
  };
  readonly init?: boolean;
  readonly restart: string;
  readonly logging: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly dns_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
}

interface Network {
  readonly internal?: boolean;
  readonly driver_opts?: Readonly<Record<string, string>>;
  readonly ipam?: { readonly config: readonly { readonly subnet?: string; readonly ip_range?: string }[] };
}

/** What the files of a composition say together. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, Network>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/**
 * Reads the two compose files as Compose does, with `${NAME}` from `environment`.
 * @throws Error for a variable that is required and not set.
 */
export function readCompose(environment: Readonly<Record<string, string>>): ComposeFile {
  const files = ['docker-compose.yml', 'docker-compose.tls.yml'].map((name) => {
    const file = parse(readFileSync(join(ROOT, name), 'utf8'), { merge: true }) as Mapping;
    return byName(filled(file, environment) as Mapping);
  });
  return files.reduce((before, after) => merged(before, after) as Mapping) as unknown as ComposeFile;
}

type Mapping = Record<string, unknown>;

/** Puts values in the place of variables: after parsing, so that none is taken for a number. */
function filled(value: unknown, environment: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, environment));
  if (isMapping(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, environment)]));
  }
  if (typeof value !== 'string') return value;
  return value.replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, sign?: string, word?: string) => {
      const found = environment[name] ?? '';
      if (found === '' && sign === '?') throw new Error(`${name}: ${word ?? ''}`);
      return found === '' ? (word ?? '') : found;
    },
  );
}

/** Networks may be a list of names. */
function byName(file: Mapping): Mapping {
  for (const service of Object.values(file['services'] as Record<string, Mapping>)) {
    const { networks } = service;
    if (Array.isArray(networks)) {
      service['networks'] = Object.fromEntries((networks as string[]).map((name) => [name, null]));
    }
  }
  return file;
}

function merged(before: unknown, after: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(after))
    return [...(before as unknown[]), ...(after as unknown[])];
  if (!isMapping(before) || !isMapping(after)) return after;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      name in before && name in after ? merged(before[name], after[name]) : (after[name] ?? before[name]),
    ]),
  );
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
