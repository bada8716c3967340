import type { ReleaseResult } from '../../src/domain/release/release.ts';
import { targetWorkflowId, tenantHeaders } from '../../src/domain/target/targetSpec.ts';
import { workflowResult } from '../../src/domain/workflowResult.ts';
import { type TargetView, viewQuery } from '../../src/messages/target.ts';
import { freshFetch } from './freshFetch.ts';
import type { Stack } from './stack.ts';

interface Listed<T> {
  readonly resources: readonly T[];
}

interface Revision {
  readonly id: string;
  readonly status: string;
  readonly source_revision_config: { readonly source_tarball_path?: string | null };
}

interface Deployment {
  readonly id: string;
  readonly name: string;
  readonly active_revision_id: string | null;
  readonly latest_revision_id: string | null;
  readonly source_config: { readonly custom_url: string | null };
}

/** The page size of a control plane's list of revisions. */
const PAGE = 100;

/** Reads the results without Slipway: the control plane's state, the agent's answers, Temporal's histories. */
export class Observer {
  readonly #stack: Stack;
  readonly #deployment: string;
  readonly #tenant: { readonly tenantId?: string };

  /** @param tenantId - the target's. */
  constructor(stack: Stack, deployment: string, tenantId?: string) {
    this.#stack = stack;
    this.#deployment = deployment;
    this.#tenant = tenantId === undefined ? {} : { tenantId };
  }

  async deployment(): Promise<Deployment> {
    const list = await this.#get(`/v2/deployments?name_contains=${this.#deployment}`);
    const found = (list as Listed<Deployment>).resources.find(({ name }) => name === this.#deployment);
    if (found === undefined) throw new Error(`there is no deployment ${this.#deployment}`);
    return found;
  }

  async revisions(): Promise<readonly Revision[]> {
    const { id } = await this.deployment();
    const revisions: Revision[] = [];
    for (let page: readonly Revision[] | undefined; page === undefined || page.length === PAGE;) {
      const query = `limit=${PAGE}&offset=${revisions.length}`;
      page = ((await this.#get(`/v2/deployments/${id}/revisions?${query}`)) as Listed<Revision>).resources;
      revisions.push(...page);
    }
    return revisions;
  }

  /** The revisions with an upload, oldest first. The first revision of a new deployment has none. */
  async shippedRevisions(): Promise<readonly Revision[]> {
    return (await this.revisions())
      .filter((revision) => typeof revision.source_revision_config.source_tarball_path === 'string')
      .toReversed();
  }

  /** Sends the serving agent a real run, through the deployment's stable URL. */
  async ask(text: string): Promise<string> {
    const { source_config: config } = await this.deployment();
    const answer = await freshFetch(`${config.custom_url ?? ''}/runs/wait`, {
      method: 'POST',
      headers: {
        'x-api-key': this.#stack.apiKey,
        'content-type': 'application/json',
        ...tenantHeaders(this.#tenant),
      },
      body: JSON.stringify({
        assistant_id: 'greeter',
        input: { messages: [{ role: 'user', content: text }] },
      }),
    });
    if (!answer.ok) throw new Error(`the agent answered ${answer.status}: ${await answer.text()}`);
    return answer.text();
  }

  async target(): Promise<TargetView> {
    const client = await this.#stack.client();
    return client.workflow.getHandle(this.#targetId).query(viewQuery);
  }

  async result(releaseId: string): Promise<ReleaseResult> {
    const client = await this.#stack.client();
    return workflowResult(client.workflow.getHandle(`${this.#targetId}/${releaseId}`));
  }

  /** A result in short, for the message of a failed expectation. */
  async story(releaseId: string): Promise<string> {
    const { outcome, reason, extraRevisionIds, steps } = await this.result(releaseId);
    const lines = steps.map(
      ({ step, status, attempts, detail }) => `${step} ${status} ${attempts ?? '-'} ${detail ?? ''}`,
    );
    return [outcome, reason, `extra: ${extraRevisionIds.join()}`, ...lines].join('\n');
  }

  /** Every recorded failure of an attempt at a step, final or retried. */
  async stepFailures(
    releaseId: string,
  ): Promise<readonly { activityType: string; code: string; message: string }[]> {
    const client = await this.#stack.client();
    const { events } = await client.workflow.getHandle(`${this.#targetId}/${releaseId}`).fetchHistory();
    const types = new Map<string, string>();
    return (events ?? []).flatMap((event) => {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled != null) types.set(String(event.eventId), scheduled.activityType?.name ?? '');
      const { activityTaskStartedEventAttributes: started, activityTaskFailedEventAttributes: failed } =
        event;
      const failure = started?.lastFailure ?? failed?.failure;
      if (failure == null) return [];
      const activityType = types.get(String((started ?? failed)?.scheduledEventId)) ?? '';
      const code = failure.applicationFailureInfo?.type ?? '';
      return [{ activityType, code, message: failure.message ?? '' }];
    });
  }

  async eventCount(releaseId: string): Promise<number> {
    const client = await this.#stack.client();
    const history = await client.workflow.getHandle(`${this.#targetId}/${releaseId}`).fetchHistory();
    return history.events?.length ?? 0;
  }

  /** Every history of the target, its releases and its notices, as text, to search for secrets. */
  async historiesAsText(): Promise<string> {
    const client = await this.#stack.client();
    const texts: string[] = [];
    for await (const { workflowId } of client.workflow.list()) {
      if (!workflowId.startsWith(this.#targetId) && !workflowId.startsWith('notice:')) continue;
      const history = await client.workflow.getHandle(workflowId).fetchHistory();
      texts.push(decodePayloads(history));
    }
    return texts.join('\n');
  }

  get #targetId(): string {
    return targetWorkflowId({
      controlPlane: this.#stack.controlPlane,
      deployment: this.#deployment,
      ...this.#tenant,
    });
  }

  #get(path: string): Promise<unknown> {
    return this.#stack.call('GET', path, undefined, tenantHeaders(this.#tenant));
  }
}

function decodePayloads(history: unknown): string {
  return JSON.stringify(history, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value,
  );
}
