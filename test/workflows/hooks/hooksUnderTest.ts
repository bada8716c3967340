import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Hono } from 'hono';

import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import type { RecordedTarget } from '../../../src/domain/target/targetSpec.ts';
import type { HookDecision, HookState } from '../../../src/domain/hooks/hookState.ts';
import type { HookAnswer } from '../../../src/domain/hooks/takeDelivery.ts';
import { hookRoutes } from '../../../src/hooks/hookRoutes.ts';
import { answerHookUpdate, hookQuery } from '../../../src/messages/hooks.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { hookWorkflowId, type ListeningHook } from '../../../src/temporal/client/hooks/hookClient.ts';
import { type TargetHook, viewTargetHooks } from '../../../src/temporal/client/hooks/targetHooks.ts';
import type { Harness } from '../harness.ts';
import { historiesOf, type RecordedHistory } from '../recordedHistory.ts';
import { seen } from '../seen.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { parseConfig } from '../../config/parseConfig.ts';

const TOKEN = 'a-token-of-alertmanager';

/** An alert as Alertmanager sends it. */
export interface Alert {
  readonly name?: string;
  readonly fingerprint?: string;
  readonly startsAt?: string;
  readonly status?: 'firing' | 'resolved';
  readonly labels?: Readonly<Record<string, string>>;
}

export class HookUnderTest {
  readonly #client: Client;
  readonly #temporal: TemporalConnection;
  readonly #hook: ListeningHook;
  readonly #kept: RecordedTarget;
  readonly #requests: { release?: ReleaseRequest; promotion?: PromotionRequest };

  /**
   * @param rules - `on` of the hook, YAML, indented by six.
   * @param requests - what the folder of the file would ask for.
   */
  constructor(
    client: Client,
    temporal: TemporalConnection,
    { target, rules, name = 'alerts', requests = {} }: HookOptions,
  ) {
    this.#client = client;
    this.#temporal = temporal;
    this.#requests = requests;
    const { target: spec, recordStore } = target.request('any');
    this.#kept = { target: spec, recordStore };
    const config = parseConfig(configOf(rules), 'slipway.yaml', {}).hooks['alerts'];
    if (config === undefined) throw new Error('no hook');
    const targets = new Map([['production', target.workflowId]]);
    const workflowId = hookWorkflowId(name, [...targets.values()]);
    const promotions = new Map([['to-production', 'production']]);
    this.#hook = { name, workflowId, config, targets, promotions };
  }

  get handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(this.#hook.workflowId);
  }

  /** Starts its workflow, with short runs, or a state that an earlier run left. */
  async start(continueAsNewAfterEvents?: number, state?: HookState): Promise<void> {
    const { name, workflowId, targets } = this.#hook;
    const { taskQueue } = this.#temporal.settings;
    await this.#client.workflow.start('hook', {
      workflowId,
      taskQueue,
      args: [{ name, continueAsNewAfterEvents, state }],
      memo: { targets: [...targets.values()] },
    });
  }

  /** One more listener: it knows nothing of the others. */
  listener(): Hono {
    const { release, promotion } = this.#requests;
    return hookRoutes({
      hooks: [this.#hook],
      temporal: this.#temporal,
      environment: { HOOK_ALERTS: TOKEN },
      source: {
        kept: () => Promise.resolve(this.#kept),
        release: () =>
          release === undefined ? Promise.reject(new Error('no release')) : Promise.resolve(release),
        promotion: () =>
          promotion === undefined ? Promise.reject(new Error('no promotion')) : Promise.resolve(promotion),
      },
    });
  }

  /** Sends alerts to a listener, which a new process would have. */
  async send(alerts: readonly Alert[], listener = this.listener()) {
    const response = await listener.request(`/hooks/${this.#hook.name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: payloadOf(alerts),
    });
    const { events = [] } = (await response.json()) as { readonly events?: readonly HookAnswer[] };
    return { status: response.status, events };
  }

  view(): Promise<HookState> {
    return this.handle.query(hookQuery);
  }

  /** Its events, as a target's page and "slipway status" see them. */
  async seenBy({ workflowId: targetId }: TargetUnderTest): Promise<TargetHook | undefined> {
    const hooks = await viewTargetHooks(this.#temporal, targetId);
    return hooks.find(({ workflowId }) => workflowId === this.#hook.workflowId);
  }

  /** The same once Temporal's list shows it. */
  foundBy(target: TargetUnderTest): Promise<TargetHook> {
    return seen(this.handle, () => this.seenBy(target));
  }

  answer(event: string, approved: boolean, requestId?: string): Promise<boolean> {
    const message = { event, approved, requestId, who: 'bo', from: 'test', reason: 'seen on the dashboard' };
    return this.handle.executeUpdate(answerHookUpdate, { args: [message] });
  }

  /** What became of an event once nothing of it waits to be decided. */
  async decided(eventId: string, shows = isDecided): Promise<HookDecision> {
    return seen(this.handle, async () => {
      const { rows } = await this.view();
      const decision = rows.find(({ id }) => id === eventId)?.decisions[0];
      return decision !== undefined && shows(decision) ? decision : undefined;
    });
  }

  histories(): Promise<RecordedHistory[]> {
    return historiesOf(this.#client, this.#hook.workflowId);
  }
}

export interface HookOptions {
  readonly target: TargetUnderTest;
  readonly rules: string;
  readonly name?: string;
  readonly requests?: { readonly release?: ReleaseRequest; readonly promotion?: PromotionRequest };
}

function isDecided({ state }: HookDecision): boolean {
  return state !== 'waiting';
}

export class HooksUnderTest {
  readonly #harness: Harness;
  readonly #made: HookUnderTest[] = [];

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  make(options: HookOptions): HookUnderTest {
    const { client, taskQueue } = this.#harness;
    const settings = { taskQueue, address: 'test', namespace: 'default', origin: 'environment' };
    const { connection } = client;
    const temporal = { client, connection, settings } as unknown as TemporalConnection;
    const hook = new HookUnderTest(client, temporal, options);
    this.#made.push(hook);
    return hook;
  }

  async histories(): Promise<RecordedHistory[]> {
    return (await Promise.all(this.#made.map((hook) => hook.histories()))).flat();
  }

  async terminate(): Promise<void> {
    await Promise.all(this.#made.map((hook) => hook.handle.terminate()));
  }
}

function configOf(rules: string): string {
  return `
targets:
  staging: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: staging }
  production: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: agent }
promotions:
  to-production: { from: staging, to: production }
hooks:
  alerts:
    form: alertmanager
    secret: { from: env:HOOK_ALERTS }
    on:
${rules}
`;
}

function payloadOf(alerts: readonly Alert[]): string {
  return JSON.stringify({
    version: '4',
    groupKey: '{}:{alertname="AnswersWorse"}',
    truncatedAlerts: 0,
    status: 'firing',
    receiver: 'slipway',
    groupLabels: { alertname: 'AnswersWorse' },
    commonLabels: {},
    commonAnnotations: {},
    externalURL: 'http://alertmanager.test',
    alerts: alerts.map(({ name = 'AnswersWorse', labels = {}, ...alert }) => ({
      status: alert.status ?? 'firing',
      labels: { alertname: name, severity: 'page', ...labels },
      annotations: { summary: 'the answers got worse' },
      startsAt: alert.startsAt ?? new Date().toISOString(),
      endsAt: '0001-01-01T00:00:00Z',
      generatorURL: 'http://prometheus.test/graph',
      fingerprint: alert.fingerprint ?? 'fp-1',
    })),
  });
}
