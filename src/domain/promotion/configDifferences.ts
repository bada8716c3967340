import { canonicalJson } from '@slipway/contract/canonicalJson';
import type { TargetSpec } from '../target/targetSpec.ts';

/** What of a target's configuration a promotion compares. */
export interface ComparedSettings {
  readonly target: Pick<TargetSpec, 'controlPlane' | 'source' | 'sourceConfig' | 'secrets' | 'vocabulary'>;
  readonly graphConfigPath: string | null;
  readonly soakMs: number;
}

/**
 * In what the configurations of two targets differ, one sentence each: the same artifact may behave differently there.
 * Secrets are compared by their names and references; their values are nobody's business.
 */
export function configDifferences(from: ComparedSettings, to: ComparedSettings): readonly string[] {
  const rows: readonly [what: string, from: unknown, to: unknown][] = [
    ['controlPlane', from.target.controlPlane, to.target.controlPlane],
    ['vocabulary', from.target.vocabulary ?? 'contract', to.target.vocabulary ?? 'contract'],
    ['source', from.target.source, to.target.source],
    ['graphConfig', from.graphConfigPath, to.graphConfigPath],
    ['soak', from.soakMs, to.soakMs],
    ...keysOf(from.target.sourceConfig, to.target.sourceConfig).map((key): [string, unknown, unknown] => [
      key,
      from.target.sourceConfig[key],
      to.target.sourceConfig[key],
    ]),
    ...secretRows(from, to),
  ];
  return rows.flatMap(([what, one, other]) =>
    canonicalJson(one ?? null) === canonicalJson(other ?? null)
      ? []
      : [`${what}: ${shown(one)} → ${shown(other)}`],
  );
}

function secretRows(from: ComparedSettings, to: ComparedSettings): [string, unknown, unknown][] {
  const byName = ({ target }: ComparedSettings): Readonly<Record<string, string>> =>
    Object.fromEntries((target.secrets ?? []).map(({ name, from: reference }) => [name, reference]));
  const [one, other] = [byName(from), byName(to)];
  return keysOf(one, other).map((name) => [`secret ${name}`, one[name], other[name]]);
}

function keysOf(one: object, other: object): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
