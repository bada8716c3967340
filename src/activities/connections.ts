import { Context } from '@temporalio/activity';
import type { Agent } from 'undici';

import type { ArtifactStore } from '../artifact/artifactStore.ts';
import { openArtifactStore } from '../artifact/openArtifactStore.ts';
import type { CheckedAgent } from '../check/askAgent.ts';
import {
  type ControlPlaneClient,
  createControlPlaneClient,
  type DeploymentsClient,
} from '../clients/controlPlane.ts';
import { createFeedbackClient, type FeedbackClient } from '../clients/feedback.ts';
import { createRunApiClient, type RunApiClient } from '../clients/runApi.ts';
import { createAgent, type OnCall } from '../clients/service.ts';
import { secretFor } from '../config/secretOrigins.ts';
import { mayHaveKey, type TargetSpec, tenantHeaders } from '../domain/target/targetSpec.ts';

/** For each receiver's origin. */
const RECEIVER_CONNECTIONS = 16;
const METRIC_CONNECTIONS = 64;
/** All agents behind one gateway have one origin. What runs at once is bounded by the worker's slots. */
const AGENT_CONNECTIONS = 4_096;

/** The parts of an artifact store that releases use. */
export type ReleaseStore = Pick<
  ArtifactStore,
  'url' | 'open' | 'verify' | 'putRecord' | 'getRecord' | 'listRecords' | 'removeRecord'
>;

/** The services that activities call. {@link Connections} calls the real ones; a rehearsal has its own in memory. */
export interface Outside {
  controlPlane(target: TargetSpec): DeploymentsClient;
  agent(target: TargetSpec, agentUrl: string): Pick<RunApiClient, 'ok'> & CheckedAgent;
  feedback(): Pick<FeedbackClient, 'submit'>;
  evaluators(): Agent;
  openStore(url: string): ReleaseStore;
}

/**
 * The worker's clients. Connections are pooled and stay open across releases. All agents share one pool: previews have ever
 * new ones. A reference to a key is resolved here, and the key is passed no further.
 */
export class Connections implements Outside {
  readonly #controlPlanes = new Map<string, ControlPlaneClient>();
  readonly #agents = createAgent(AGENT_CONNECTIONS);
  readonly #feedback = createFeedbackClient();
  readonly #receivers = createAgent(RECEIVER_CONNECTIONS);
  readonly #evaluators = createAgent();
  readonly #metrics = createAgent(METRIC_CONNECTIONS);
  readonly #onCall: OnCall | undefined;

  /** @param onCall - observes the calls to control planes and agents. */
  constructor(onCall?: OnCall) {
    this.#onCall = onCall;
  }

  /**
   * A control plane's client. Each task queue and the local activities have their own, so that a PATCH never waits
   * for a connection that a poll or another read uses (design, rule 11).
   * @throws SLIPWAY_SECRET_MISSING if the worker does not have the key, SLIPWAY_SECRET_REFUSED if it must not send
   * it.
   */
  controlPlane(target: TargetSpec): ControlPlaneClient {
    const apiKey = secretFor(target.apiKey, target.controlPlane);
    const { taskQueue, isLocal } = Context.current().info;
    const { vocabulary = 'contract', controlPlane: baseUrl, tenantId = '' } = target;
    const headers = tenantHeaders(target);
    const key = `${isLocal ? 'local' : taskQueue} ${baseUrl} ${vocabulary} ${tenantId} ${apiKey}`;
    const known = this.#controlPlanes.get(key);
    if (known !== undefined) return known;
    const client = createControlPlaneClient({ baseUrl, apiKey, headers, vocabulary, onCall: this.#onCall });
    this.#controlPlanes.set(key, client);
    return client;
  }

  /**
   * The agent's client. It sends the agent's own key, or the control plane's if the agent may get it.
   * @throws SLIPWAY_SECRET_MISSING if the worker does not have the key, SLIPWAY_SECRET_REFUSED if it must not send
   * it.
   */
  agent(target: TargetSpec, agentUrl: string): RunApiClient {
    const { agentApiKey, name } = target;
    const reference = agentApiKey ?? (mayHaveKey(target, agentUrl) ? target.apiKey : undefined);
    const apiKey = reference === undefined ? undefined : secretFor(reference, agentUrl);
    const headers = tenantHeaders(target);
    const unauthorizedHint =
      apiKey === undefined
        ? `the control plane's key is not sent to another origin: set targets.${name}.agentApiKey, or agentOrigins: ["${new URL(agentUrl).origin}"]`
        : undefined;
    const [agent, onCall] = [this.#agents, this.#onCall];
    return createRunApiClient({ baseUrl: agentUrl, apiKey, headers, unauthorizedHint, agent, onCall });
  }

  feedback(): FeedbackClient {
    return this.#feedback;
  }

  openStore(url: string): ArtifactStore {
    return openArtifactStore(url);
  }

  /** The connection pool for receivers of notices. It is small, because they are called rarely. */
  receivers(): Agent {
    return this.#receivers;
  }

  evaluators(): Agent {
    return this.#evaluators;
  }

  /** The connection pool for the services that guards measure with. */
  metrics(): Agent {
    return this.#metrics;
  }

  /** Closes every connection after its running calls have ended. */
  async close(): Promise<void> {
    const clients = [...this.#controlPlanes.values(), this.#feedback];
    const pools = [this.#agents, this.#receivers, this.#evaluators, this.#metrics];
    await Promise.all([...clients, ...pools].map((each) => each.close()));
  }
}
