import { describe, expect, it } from 'vitest';

import { SEARCH_ATTRIBUTES } from '../../../src/domain/searchAttributes.ts';
import { callTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import {
  missingSearchAttributes,
  registerSearchAttributes,
  requireSearchAttributes,
} from '../../../src/temporal/client/searchAttributes.ts';
import { grpcError } from './answeringTemporal.ts';

const NAMES = Object.values(SEARCH_ATTRIBUTES);

/** A namespace that shows aliases, and answers a query that names one of `searchable`. By default it has no operator service. */
function namespace(
  aliases: Readonly<Record<string, string>>,
  {
    searchable = [],
    refusal = 'INVALID_ARGUMENT',
    address = '127.0.0.1:7233',
  }: {
    readonly searchable?: readonly string[];
    readonly refusal?: Parameters<typeof grpcError>[0];
    readonly address?: string;
  } = {},
): TemporalConnection {
  const answer = ({ query }: { query: string }): Promise<object> => {
    if (searchable.some((name) => query.startsWith(`${name} `))) return Promise.resolve({});
    return Promise.reject(grpcError(refusal));
  };
  const connection = {
    withDeadline: (_: number, call: () => unknown) => call(),
    workflowService: {
      describeNamespace: () => Promise.resolve({ config: { customSearchAttributeAliases: aliases } }),
      countWorkflowExecutions: answer,
    },
  };
  const settings = { address, namespace: 'ours', origin: 'environment' };
  return { connection, client: connection, settings } as unknown as TemporalConnection;
}

/** The columns of a SQL database for attributes. */
function columns(names: readonly string[], type = 'Keyword'): Record<string, string> {
  return Object.fromEntries(
    names.map((name, index) => [`${type}${String(index + 1).padStart(2, '0')}`, name]),
  );
}

describe('the search attributes of a namespace', () => {
  it('are those that its description shows', async () => {
    expect(await missingSearchAttributes(namespace(columns(NAMES)))).toEqual([]);
  });

  it('are those that a query may name, where the description shows none', async () => {
    const [first = '', ...others] = NAMES;
    expect(await missingSearchAttributes(namespace({}, { searchable: others }))).toEqual([first]);
  });

  it('are not guessed from a query that was refused for another reason', async () => {
    const silent = namespace({}, { refusal: 'PERMISSION_DENIED' });
    await expect(missingSearchAttributes(silent)).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    });
  });

  it.each(['KeywordList', 'Text', 'Int'])('are refused with the type %s', async (type) => {
    await expect(missingSearchAttributes(namespace(columns(NAMES, type)))).rejects.toMatchObject({
      code: 'SLIPWAY_SEARCH_ATTRIBUTES_MISSING',
      message: expect.stringContaining('another type') as string,
    });
  });

  it('are registered once Temporal takes them, some time after it has been asked', async () => {
    const searchable: string[] = [];
    const lacking = namespace({}, { searchable });
    const addSearchAttributes = (): Promise<object> => {
      setTimeout(() => searchable.push(...NAMES), 150);
      return Promise.resolve({});
    };
    Object.assign(lacking.connection, { operatorService: { addSearchAttributes } });
    expect(await registerSearchAttributes(lacking)).toEqual(NAMES);
    expect(searchable).toEqual(NAMES);
  });

  it.each([
    ['another Temporal', '127.0.0.1:7233', /temporal operator search-attribute create .*tcld namespace/],
    ['Temporal Cloud', 'eu-central-1.aws.api.temporal.io:7233', /^(?!.*temporal operator).*tcld namespace/],
  ])('are asked for with the commands of %s', async (_what, address, commands) => {
    await expect(requireSearchAttributes(namespace({}, { address }))).rejects.toMatchObject({
      hint: expect.stringMatching(commands) as string,
    });
  });

  it('are named by a start that Temporal refuses because of them', async () => {
    const why =
      '3 INVALID_ARGUMENT: Namespace ours has no mapping defined for search attribute SlipwayTarget';
    const cause = Object.assign(grpcError('INVALID_ARGUMENT'), { message: why });
    const start = () => Promise.reject(new Error('Failed to start Workflow', { cause }));
    await expect(callTemporal(namespace({}), start)).rejects.toMatchObject({
      code: 'SLIPWAY_SEARCH_ATTRIBUTES_MISSING',
      exitCode: 6,
      hint: 'register them: slipway doctor --fix',
    });
  });
});
