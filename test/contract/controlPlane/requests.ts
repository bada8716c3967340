/** The smallest request to create a deployment of each source that breaks no rule. */
export const CREATES = {
  repo_host: {
    name: 'agent',
    source: 'repo_host',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  },
  external_image: {
    name: 'agent',
    source: 'external_image',
    source_config: {},
    source_revision_config: {},
    secrets: [],
  },
  internal_image: {
    name: 'agent',
    source: 'internal_image',
    source_config: {},
    source_revision_config: {},
    secrets: [],
  },
  internal_source: {
    name: 'agent',
    source: 'internal_source',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  },
} as const;

export type SourceName = keyof typeof CREATES;
export const SOURCES = Object.keys(CREATES) as SourceName[];
export const ID = '11111111-1111-4111-8111-111111111111';
export const OTHER_ID = '22222222-2222-4222-8222-222222222222';

/** A request to create with one more value at a path of names. */
export function createWith(source: SourceName, path: string, value: unknown): Record<string, unknown> {
  return withValue(CREATES[source], path, value);
}

/** A copy with a value at a path of names, `a.b.c`; `undefined` takes the field away. */
export function withValue(base: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(base) as Record<string, unknown>;
  const names = path.split('.');
  const last = names.pop() ?? '';
  let inner = copy;
  for (const name of names) {
    inner[name] = { ...(inner[name] as object | undefined) };
    inner = inner[name] as Record<string, unknown>;
  }
  if (value === undefined) Reflect.deleteProperty(inner, last);
  else inner[last] = value;
  return copy;
}
