import { createSecretKey, randomBytes } from 'node:crypto';

import { defaultPayloadConverter } from '@temporalio/common';
import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { findOldKeys } from '../../../src/temporal/client/oldPayloadKeys.ts';
import { PayloadCipher } from '../../../src/temporal/codec/payloadCipher.ts';

const OLD = { id: 'old', key: createSecretKey(randomBytes(32)) };
const NEW = { id: 'new', key: createSecretKey(randomBytes(32)) };

it('running workflows with another key than the first are listed, and a target continues as a new run', async () => {
  const histories = { a: ['target', OLD], b: ['target', NEW], c: ['promotion', OLD] } as const;
  const said: string[] = [];
  const getHandle = (workflowId: keyof typeof histories) => ({
    fetchHistory: async () => {
      const [payload] = await new PayloadCipher([histories[workflowId][1]]).encode([
        defaultPayloadConverter.toPayload('input'),
      ]);
      return { events: [{ workflowExecutionStartedEventAttributes: { input: { payloads: [payload] } } }] };
    },
    signal: ({ name }: { readonly name: string }) => Promise.resolve(said.push(`${workflowId} ${name}`)),
  });
  const list = () => Object.entries(histories).map(([workflowId, [type]]) => ({ workflowId, type }));
  const temporal = {
    client: { workflow: { list, getHandle }, schedule: { list: () => [] } },
    settings: { codec: new PayloadCipher([NEW, OLD]) },
  } as unknown as TemporalConnection;
  const found = await findOldKeys(temporal);
  expect(found).toMatchObject([
    { id: 'a', keys: ['old'] },
    { id: 'c', keys: ['old'], renew: null },
  ]);
  await found[0]?.renew?.();
  expect(said).toEqual(['a renew']);
});
