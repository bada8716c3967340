import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { STEP_NAMES } from '../../../src/domain/step.ts';

const REFERENCE = { from: 'env:KEY' };
const GITHUB = { apiUrl: 'https://api.github.test', token: REFERENCE, repository: 'owner/name' };

/** A valid request with every possible field. */
export const FULL_REQUEST = {
  requestKey: 'key',
  target: {
    name: 'production',
    controlPlane: 'https://control.test',
    vocabulary: 'public',
    apiKey: REFERENCE,
    tenantId: '1b9e2f7c-7d5e-4f4e-8a53-111111111111',
    agentApiKey: { from: 'file:/run/key' },
    deployment: 'agent',
    deploymentId: '3f0e8a9e-4f67-4a3c-8d6c-0a3c9a0f1b2d',
    agentUrl: 'https://agent.test',
    source: 'internal_source',
    sourceConfig: { install_command: 'npm ci' },
    secrets: [{ name: 'TOKEN', from: 'env:TOKEN' }],
  },
  artifact: { kind: 'tarball', digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 1, store: 'file:///store' },
  graphConfigPath: 'graph.json',
  checks: [
    {
      name: 'greets',
      assistant: 'agent',
      input: { messages: [] },
      expect: {
        status: 'success',
        contains: 'hello',
        matches: '^hello',
        path: 'messages.0',
        equals: 'hello',
        jsonSchema: { type: 'string' },
        number: { equals: 3, tolerance: 0.1, min: 1, max: 4 },
        tools: { mode: 'superset', argsMode: 'subset', calls: [{ name: 'search', args: { q: 'x' } }] },
        maxToolCalls: 3,
        maxTokens: 1_000,
        maxLatencyMs: 1_000,
        not: { contains: 'sorry' },
        anyOf: [{ contains: 'hello' }, { not: { contains: 'bye' } }],
      },
      turns: [
        { input: { messages: [] }, expect: { status: 'interrupted' } },
        { resume: 'yes', expect: {} },
      ],
      repeat: 5,
      pass: 4,
      timeoutMs: 1_000,
      feedbackKey: 'smoke',
    },
  ],
  checksBudget: { timeMs: 1_000, runs: 20, tokens: 1_000 },
  steps: Object.fromEntries(
    STEP_NAMES.map((name) => [
      name,
      {
        startToCloseMs: 60_000,
        scheduleToCloseMs: 60_000,
        heartbeatMs: 60_000,
        retry: { initialIntervalMs: 10, maximumIntervalMs: 100, backoffCoefficient: 1.5, maximumAttempts: 3 },
      },
    ]),
  ),
  soakMs: 0,
  queue: 'all',
  commit: 'c0ffee',
  ref: 'main',
  recordStore: 's3://records/of/slipway?region=eu-west-1',
  overrideHold: true,
  onError: { then: 'wait', waitMs: 1_000 },
  pauseMs: 1_000,
  approval: { required: 1, approvers: ['bo'], withinMs: 1_000, otherwise: 'approve' },
  freezes: [{ name: 'weekend', timeZone: 'UTC', from: 'Fri 16:00', until: 'Mon 08:00', then: 'wait' }],
  overrideFreeze: true,
  notify: [
    { kind: 'slack', name: 'ops', url: REFERENCE, events: ['released', 'errored'] },
    { kind: 'webhook', name: 'audit', url: REFERENCE, secret: REFERENCE },
    { kind: 'github_deployment', name: 'deployments', ...GITHUB, environment: 'prod' },
    { kind: 'github_status', name: 'statuses', ...GITHUB, context: 'slipway' },
  ],
  requestedBy: { who: 'ada', from: 'ci', reason: 'because' },
} as const satisfies ReleaseRequest;

/** Values that a JSON payload can contain anywhere. */
export const HOSTILE_VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  'x',
  '\u0000',
  '\ud800',
  '../../escape',
  'x'.repeat(1_001),
  'constructor',
  'http://',
  'javascript:alert(1)',
  'https://user:password@host.test',
  's3://bucket/%zz',
  'file://elsewhere/%00',
  '(',
  [],
  [null],
  [[]],
  Array.from({ length: 1_001 }, () => 'x'),
  {},
  { from: 'a secret itself' },
  { kind: 'constructor' },
  JSON.parse('{"__proto__":{"retry":null}}'),
  nested(1_000),
];

export type Path = readonly string[];

/** All paths in a value, nested ones included. */
export function pathsOf(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [
    [key],
    ...pathsOf(part).map((path) => [key, ...path]),
  ]);
}

export function hasPart(value: unknown, [key, ...rest]: Path): boolean {
  if (key === undefined) return true;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
  return hasPart((value as Record<string, unknown>)[key], rest);
}

/** A value with the part at a path replaced; `undefined` removes it. */
export function withPart(value: unknown, [key, ...rest]: Path, part: unknown): unknown {
  if (key === undefined) return part;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
    string,
    unknown
  >;
  const changed = rest.length === 0 ? part : withPart(copy[key], rest, part);
  if (changed === undefined) Reflect.deleteProperty(copy, key);
  else copy[key] = changed;
  return copy;
}

/** A list nested to a given depth. */
export function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}
