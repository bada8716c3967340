import { Context } from '@temporalio/activity';

import type { Outside } from '../activities/connections.ts';
import { memoryStore } from '../artifact/memoryStore.ts';
import type { DeploymentsClient } from '../clients/controlPlane.ts';
import { memoryAgent, MemoryControlPlane } from '../clients/memoryControlPlane.ts';
import { type Artifact, artifactIdentity } from '../domain/artifact/artifact.ts';
import { artifactFields } from '../domain/deployment/patchedFields.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type PromotionRequest, promotionWorkflowId } from '../domain/promotion/promotion.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/target/targetSpec.ts';
import type { AskedNow, Outcomes } from './outcomes.ts';

/** How long a build takes here, in milliseconds. */
const BUILD_MS = 2 * 60_000;
/** How long a built revision takes to serve again, in milliseconds. */
const REDEPLOY_MS = 30_000;

interface RehearsedOutsideOptions {
  readonly outcomes: Outcomes;
  readonly promotions: readonly Pick<PromotionRequest, 'name' | 'from' | 'to'>[];
  /** The skipped time: milliseconds since 1970. */
  readonly now: () => Promise<number>;
}

/** A pending change of a revision's status, and when it happens: milliseconds since 1970. */
interface Due {
  readonly revisionId: string;
  readonly at: number;
  readonly status: 'DEPLOYED' | 'BUILD_FAILED';
}

/** The control planes, agents and stores of a rehearsal: in memory, with injected failures. */
export class RehearsedOutside implements Outside {
  readonly #options: RehearsedOutsideOptions;
  readonly #controlPlanes = new Map<string, { plane: MemoryControlPlane; due: Due[] }>();
  readonly #records = new Map<string, unknown>();

  constructor(options: RehearsedOutsideOptions) {
    this.#options = options;
  }

  /** Gives a target a deployment with one revision that serves. @returns the revision's id. */
  deploy(target: TargetSpec, artifact: Artifact): string {
    const { plane } = this.#of(target);
    const deployment = plane.addDeployment(target.deployment);
    const identity = artifactIdentity(artifact);
    const { id } = plane.addRevision(deployment, { identity, source: artifactFields(artifact, null) });
    plane.bringUp(deployment.id, id);
    return id;
  }

  controlPlane(target: TargetSpec): DeploymentsClient {
    const { plane, due } = this.#of(target);
    const client = plane.client(async () => {
      const at = await this.#options.now();
      if (this.#happens('control_plane', target, at)) {
        throw new SlipwayError('SLIPWAY_UNREACHABLE', `the control plane of "${target.name}" is down`);
      }
      settle(plane, due, at);
    });
    return {
      ...client,
      patchDeployment: async (...patch) => {
        const answer = await client.patchDeployment(...patch);
        const now = await this.#options.now();
        const fails = this.#happens('build', target, now);
        const status = fails ? 'BUILD_FAILED' : 'DEPLOYED';
        due.push({ revisionId: answer.latest_revision_id ?? '', at: now + BUILD_MS, status });
        return answer;
      },
      redeployRevision: async (deploymentId, revisionId, call) => {
        const answer = await client.redeployRevision(deploymentId, revisionId, call);
        due.push({ revisionId, at: (await this.#options.now()) + REDEPLOY_MS, status: 'DEPLOYED' });
        return answer;
      },
    };
  }

  agent(): ReturnType<Outside['agent']> {
    return memoryAgent(() => 'rehearsed');
  }

  feedback(): ReturnType<Outside['feedback']> {
    return { submit: () => Promise.resolve() };
  }

  evaluators(): ReturnType<Outside['evaluators']> {
    throw new Error('a rehearsal asks no evaluator');
  }

  openStore(): ReturnType<Outside['openStore']> {
    return memoryStore(this.#records);
  }

  #happens(kind: 'control_plane' | 'build', { name }: TargetSpec, at: number): boolean {
    return this.#options.outcomes.happens(kind, this.askedNow(at, name), aboutTarget(name)) !== undefined;
  }

  /** The context of an event. If a promotion's watch asks, it includes the soak or bake and its start. */
  askedNow(at: number, target: string): AskedNow {
    const { activityType, workflowExecution, scheduledTimestampMs } = Context.current().info;
    const promotion = this.#options.promotions.find(
      (other) => promotionWorkflowId(other) === workflowExecution?.workflowId,
    );
    if (activityType !== 'watchRevision' || promotion === undefined) return { now: at };
    const of = promotion.from.name === target ? 'soak' : 'bake';
    return { now: at, watch: { of, since: scheduledTimestampMs } };
  }

  #of(target: TargetSpec): { plane: MemoryControlPlane; due: Due[] } {
    const key = targetWorkflowId(target);
    const known = this.#controlPlanes.get(key);
    if (known !== undefined) return known;
    const plane = new MemoryControlPlane({
      newDeployment: () => ({
        id: target.deploymentId ?? `${target.name} (rehearsed)`,
        agentUrl: target.agentUrl ?? `http://${encodeURIComponent(target.name)}.rehearsed.invalid`,
      }),
      newRevisionId: ({ revisions }) => `${target.name}-${revisions.length + 1}`,
    });
    const created = { plane, due: [] };
    this.#controlPlanes.set(key, created);
    return created;
  }
}

/** Whether an injection applies to a target. One without a target applies to all. */
export function aboutTarget(target: string): (injection: { readonly target: string | null }) => boolean {
  return (injection) => injection.target === null || injection.target === target;
}

function settle(plane: MemoryControlPlane, due: Due[], now: number): void {
  const [deployment] = plane.deployments;
  if (deployment === undefined) return;
  for (const one of due.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)) {
    due.splice(due.indexOf(one), 1);
    if (one.status === 'DEPLOYED') plane.bringUp(deployment.id, one.revisionId);
    else plane.revision(deployment.id, one.revisionId).status = one.status;
  }
}
