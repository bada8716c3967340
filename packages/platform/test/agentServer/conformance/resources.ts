import { has, isEmptyObject, isText, isTimestamp, isUuid } from './judging.ts';
import type { Row, ServerUnderTest } from './row.ts';

/** Contract 001, "Resources and their fields". */
export const RESOURCE_ROWS: readonly Row[] = [
  ...fields('Thread', (server) => server.shared('thread', () => server.api.json('POST', '/threads', {})), {
    thread_id: isUuid,
    created_at: isTimestamp,
    updated_at: isTimestamp,
    'metadata, empty at creation': { metadata: isEmptyObject },
    'status, idle at creation': { status: 'idle' },
    'config, empty at creation': { config: isEmptyObject },
    'values, null at creation': { values: null },
  }),
  ...fields('Run', (server) => server.echoed().then(({ created }) => created as unknown), {
    run_id: isUuid,
    thread_id: isUuid,
    assistant_id: isUuid,
    created_at: isTimestamp,
    updated_at: isTimestamp,
    metadata: isObject,
    'status, pending when it is created': { status: 'pending' },
    kwargs: isObject,
    'multitask_strategy, reject without an explicit value': { multitask_strategy: 'reject' },
  }),
  ...fields(
    'Run: kwargs',
    (server) => server.echoed().then(({ created }) => (created as WithKwargs).kwargs),
    {
      'input, as given': { input: { text: 'hi' } },
      'config.metadata.created_by': { config: { metadata: { created_by: isText } } },
      'config.configurable.run_id': { config: { configurable: { run_id: isUuid } } },
      'config.configurable.user_id': {
        config: { configurable: { user_id: (id: unknown) => typeof id === 'string' } },
      },
      'config.configurable.graph_id': { config: { configurable: { graph_id: 'echo' } } },
      'config.configurable.thread_id': { config: { configurable: { thread_id: isUuid } } },
      'config.configurable.assistant_id': { config: { configurable: { assistant_id: isUuid } } },
      'config.configurable.checkpoint_id, null when none': {
        config: { configurable: { checkpoint_id: null } },
      },
      'webhook, null': { webhook: null },
      temporary: { temporary: false },
      stream_mode: { stream_mode: (modes: unknown) => Array.isArray(modes) && modes.every(isText) },
      'feedback_keys, null without': { feedback_keys: null },
      'interrupt_after, null without': { interrupt_after: null },
      'interrupt_before, null without': { interrupt_before: null },
    },
  ),
  ...fields('Thread state', (server) => server.echoed().then(({ state }) => state as unknown), {
    'values, keys defined by the graph': { values: { text: 'echo: hi', log: isObject } },
    next: { next: [] },
    tasks: { tasks: [] },
    'metadata.step': { metadata: { step: 1 } },
    'metadata.run_id': { metadata: { run_id: isUuid } },
    'metadata.source': { metadata: { source: 'loop' } },
    'metadata.writes, per node': { metadata: { writes: { say: { text: 'echo: hi' } } } },
    'metadata.user_id': { metadata: { user_id: (id: unknown) => typeof id === 'string' } },
    'metadata.graph_id': { metadata: { graph_id: 'echo' } },
    'metadata.thread_id': { metadata: { thread_id: isUuid } },
    'metadata.created_by': { metadata: { created_by: isText } },
    'metadata.assistant_id': { metadata: { assistant_id: isUuid } },
    created_at: isTimestamp,
    checkpoint_id: isText,
    parent_checkpoint_id: isText,
  }),
];

interface WithKwargs {
  readonly kwargs: unknown;
}

/** A row per field: the value and the expectation. A bare judge applies to the field of the row's name. */
function fields(
  resource: string,
  look: (server: ServerUnderTest) => Promise<unknown>,
  rows: Record<string, object | ((value: unknown) => boolean)>,
): Row[] {
  return Object.entries(rows).map(([row, expected]) => ({
    section: `Resources and their fields: ${resource}`,
    row,
    check: async (server) =>
      has(await look(server), typeof expected === 'function' ? { [row]: expected } : expected),
  }));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
