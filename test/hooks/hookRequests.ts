import { createHmac } from 'node:crypto';

import type { Hono } from 'hono';

import type { HookDelivery } from '../../src/domain/hooks/hookEvent.ts';
import type { RecordedTarget } from '../../src/domain/target/targetSpec.ts';
import { EMPTY_HOOK, type HookState, settle, takeWork } from '../../src/domain/hooks/hookState.ts';
import { takeDelivery } from '../../src/domain/hooks/takeDelivery.ts';
import { type Answered, hookRoutes } from '../../src/hooks/hookRoutes.ts';
import type { TemporalConnection } from '../../src/temporal/client/connection.ts';
import type { ListeningHook } from '../../src/temporal/client/hooks/hookClient.ts';
import { parseConfig } from '../config/parseConfig.ts';
import { request } from '../domain/target/targets.ts';

export const SECRET = 'a secret of the hook';
export const NOW = Date.UTC(2026, 0, 1, 12);

export function fileOf(form: string, on = '[{ name: stop, do: hold, targets: [production] }]'): string {
  return `
targets:
  staging: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: staging }
  production: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: agent }
promotions:
  up: { from: staging, to: production }
hooks:
  told: { form: ${form}, secret: { from: env:SECRET }, on: ${on} }
`;
}

export function hookOf(form: string, on?: string): ListeningHook {
  const config = parseConfig(fileOf(form, on), 'slipway.yaml', {}).hooks['told'];
  if (config === undefined) throw new Error('no hook');
  const targets = new Map([
    ['staging', 'target:staging'],
    ['production', 'target:production'],
  ]);
  return {
    name: 'told',
    workflowId: 'hook:told:1',
    config,
    targets,
    promotions: new Map([['up', 'production']]),
  };
}

export const KEPT: RecordedTarget = {
  target: request('a').target,
  recordStore: 'file:///records',
};

/** A listener before a hook's workflow in memory. */
export class ListenerUnderTest {
  readonly app: Hono;
  readonly answered: Answered[] = [];
  readonly told: HookDelivery[] = [];
  /** What the workflow does before it answers. */
  before: () => Promise<void> = () => Promise.resolve();
  /** Whether the workflow decides about the events of each message before the next one. */
  decides = true;
  #state = EMPTY_HOOK;

  constructor(hook: ListeningHook, environment: Readonly<Record<string, string>> = { SECRET }) {
    const temporal = {
      settings: { taskQueue: 'test', address: 'test', namespace: 'default' },
      client: {
        withDeadline: (_: number, work: () => unknown) => work(),
        workflow: {
          executeUpdateWithStart: async (_: unknown, { args }: { args: [HookDelivery] }) => {
            await this.before();
            this.told.push(args[0]);
            const taken = takeDelivery(this.#state, args[0], NOW);
            this.#state = this.decides ? settled(taken.state) : taken.state;
            return taken.answers;
          },
        },
      },
    } as unknown as TemporalConnection;
    this.app = hookRoutes({
      hooks: [hook],
      temporal,
      environment,
      source: {
        kept: () => Promise.resolve(KEPT),
        release: () => Promise.reject(new Error('none')),
        promotion: () => Promise.reject(new Error('none')),
      },
      onAnswered: (answered) => this.answered.push(answered),
      now: () => NOW,
    });
  }

  async post(body: string, headers: Readonly<Record<string, string>> = {}, path = '/hooks/told') {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const response = await this.app.request(path, {
      method: 'POST',
      headers: { ...length, ...headers },
      body,
    });
    const answer = (await response.json()) as {
      readonly events?: readonly { readonly id: string; readonly disposition: string }[];
      readonly error?: { readonly code: string; readonly message: string };
    };
    return { status: response.status, headers: response.headers, ...answer };
  }
}

/** The state after a guard of each waiting event was not met. */
export function settled(state: HookState): HookState {
  const taken = takeWork(state, new Set());
  return taken === undefined ? state : settled(settle(taken.state, taken.work, 'not_met', 'a guard'));
}

export function signed(text: string, secret = SECRET): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}
