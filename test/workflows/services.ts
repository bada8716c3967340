import { createHash } from 'node:crypto';

import { checksDigest, keepChecks, readKeptChecks } from '../../src/artifact/artifactStore.ts';
import { memoryStore } from '../../src/artifact/memoryStore.ts';
import {
  MemoryControlPlane,
  type MemoryDeployment,
  type MemoryRevision,
} from '../../src/clients/memoryControlPlane.ts';
import { type Artifact, artifactIdentity } from '../../src/domain/artifact/artifact.ts';
import type { Check } from '../../src/domain/check/check.ts';
import { revisionPhase } from '../../src/domain/deployment/revision.ts';
import type { Frozen } from '../../src/domain/freeze/freeze.ts';
import type { Notice } from '../../src/domain/notify/notice.ts';
import type { ReleaseResult } from '../../src/domain/release/release.ts';
import type { Verifier } from '../../src/identity/verifier.ts';
import { failure } from './failures.ts';

/** A request for a metric. Times are milliseconds since 1970. */
interface MetricAsked {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

/** What every agent answers in addition to its greeting. */
const WORDS = ['lilac', 'aster', 'rose'];

/** The services of a target in memory: a control plane with one deployment, its agent, stores, receivers. */
export class Services {
  readonly id: string;
  readonly kept = new Map<string, unknown>();
  /** Verifies proofs like a worker that trusts a real issuer. `null`: there is no issuer. */
  verifier: Pick<Verifier, 'verify'> | null = null;
  /** Whether proofs are in the folder that a request names as its record store, where a page writes them. */
  proofsInFolder = false;
  readonly controlPlane: MemoryControlPlane;
  readonly noticed: { readonly receiver: string; readonly notice: Notice }[] = [];
  /** The comments of previews, by their markers. */
  readonly comments = new Map<string, string>();
  /** Revisions, or identities of artifacts, that fail to deploy: their final status. */
  readonly broken = new Map<string, string>();
  /** Revisions, or identities of artifacts, that stay `BUILDING` until {@link bringUp}. */
  readonly slow = new Set<string>();
  /** Whether releases leave a pending revision to the control plane's poller at once. */
  leavesToPoller = false;
  /** Revisions, or identities of artifacts, whose checks fail. */
  readonly bad = new Set<string>();
  /** Words that only these revisions or artifacts answer, instead of {@link WORDS}. */
  readonly knownOnlyTo = new Map<string, ReadonlySet<string>>();
  /** The model's provider is down: no check passes. */
  providerIsAway = false;
  /** Addresses of agents that do not answer. */
  readonly deadAddresses = new Set<string>();
  /** References of keys that the control plane refuses. */
  readonly refusedKeys = new Set<string>();
  /** The agent's answer, unless it is a greeting. */
  answer = 'hello';
  /** The freeze that applies until it ends, whatever the request's freezes are. */
  frozen: Frozen | null = null;
  /** For how long no freeze begins after a look, in milliseconds. */
  unfrozenMs = 60_000;
  /** The datasets in its store, by their digests. */
  readonly datasets = new Map<string, string>();
  onRun: (input: unknown) => Promise<void> = () => Promise.resolve();
  /** What a metric answers: `http://metrics.test/NAME?from=…&until=…`. */
  measures: (asked: MetricAsked) => number | null = () => 0;
  #deployments = 0;
  #revisions = 0;

  constructor(id: string) {
    this.id = id;
    this.controlPlane = new MemoryControlPlane({
      newDeployment: () => ({
        id: `${id}-deployment${++this.#deployments === 1 ? '' : `-${this.#deployments}`}`,
        agentUrl: `http://agent.${id}.test`,
      }),
      newRevisionId: () => this.revisionId(++this.#revisions),
    });
  }

  /** The control plane for its poller. Each read advances a revision. */
  get polled(): Pick<ReturnType<MemoryControlPlane['client']>, 'getRevision'> {
    return {
      getRevision: (deploymentId, revisionId) => {
        this.advance(revisionId);
        return this.controlPlane.client().getRevision(deploymentId, revisionId);
      },
    };
  }

  /** The control plane's id of its nth revision: a UUID, as in contract 000, that begins with the number. */
  revisionId(number: number): string {
    const digits = createHash('sha256').update(this.id).digest('hex');
    const parts = [digits.slice(0, 4), `4${digits.slice(4, 7)}`, `8${digits.slice(7, 10)}`];
    return [number.toString().padStart(8, '0'), ...parts, digits.slice(10, 22)].join('-');
  }

  /** A deployment that another client created, with one active revision. */
  madeElsewhere(name: string): string {
    const deployment = this.controlPlane.addDeployment(name);
    const source = { source_tarball_path: 'uploads/elsewhere' };
    const revision = { identity: 'elsewhere', source, status: 'DEPLOYED' };
    const { id } = this.controlPlane.addRevision(deployment, revision);
    deployment.activeRevisionId = id;
    return id;
  }

  keep(checks: readonly Check[]): string {
    void keepChecks(memoryStore(this.kept), checks);
    return checksDigest(checks);
  }

  checksOf(digest: string | undefined): Promise<readonly Check[]> {
    return readKeptChecks(memoryStore(this.kept), digest ?? '');
  }

  patchElsewhere(
    identity = 'somebody else',
    source: MemoryRevision['source'] = { source_tarball_path: `uploads/${identity}` },
  ): string {
    return this.controlPlane.addRevision(this.existing(), { identity, source }).id;
  }

  /** Another tool redeploys a revision, which makes a copy if the control plane makes copies. @returns what serves. */
  async redeployElsewhere(revisionId: string): Promise<string> {
    await this.controlPlane.client().redeployRevision(this.existing().id, revisionId);
    const serving = this.controlPlane.redeployMakesRevision ? (this.latest ?? '') : revisionId;
    this.bringUp(serving);
    return serving;
  }

  bringUp(revisionId: string, identity?: string): void {
    const revision = this.#revision(revisionId);
    revision.identity = identity ?? revision.identity;
    this.slow.delete(revisionId);
    this.slow.delete(revision.identity);
    this.controlPlane.bringUp(this.existing().id, revisionId);
  }

  /** Advances a revision, as the control plane does between reads. */
  advance(revisionId: string): void {
    const revision = this.#revision(revisionId);
    const { id, identity } = revision;
    if (revisionPhase(revision.status) !== 'pending') return;
    const ending = this.broken.get(id) ?? this.broken.get(identity);
    if (this.slow.has(id) || this.slow.has(identity)) revision.status = 'BUILDING';
    else if (ending === undefined) this.bringUp(id);
    else revision.status = ending;
  }

  /** The agent's answer: a greeting, or its failure, and all words that only the serving revision knows. */
  answers(): string {
    const { id, identity } = this.#revision(this.active ?? '');
    const names = [id, identity];
    if (this.providerIsAway || names.some((name) => this.bad.has(name))) return 'goodbye';
    const knows = (word: string): boolean => {
      const knowing = this.knownOnlyTo.get(word);
      return knowing === undefined || names.some((name) => knowing.has(name));
    };
    return [this.answer, ...WORDS.filter(knows), ...[...this.knownOnlyTo.keys()].filter(knows)].join(' ');
  }

  end(revisionId: string, status: string): void {
    this.#revision(revisionId).status = status;
  }

  /** The deployment's revisions that a PATCH of an artifact created, oldest first. */
  revisionsOf(artifact: Artifact): string[] {
    const identity = artifactIdentity(artifact);
    return (this.deployment?.revisions ?? [])
      .filter((revision) => revision.identity === identity)
      .map(({ id }) => id);
  }

  /** The deployment's revisions in the form that an audit takes. */
  get observed(): { readonly revisionId: string; readonly tarballPath: string | null }[] {
    return (this.deployment?.revisions ?? []).map(({ id, source }) => ({
      revisionId: id,
      tarballPath: source.source_tarball_path ?? null,
    }));
  }

  get records(): ReleaseResult[] {
    // Names with this prefix belong to no release.
    return [...this.kept]
      .filter(([name]) => !/^[._]/.test(name))
      .map(([, record]) => record as ReleaseResult);
  }

  get deployment(): MemoryDeployment | null {
    return this.controlPlane.deployments[0] ?? null;
  }

  get latest(): string | null {
    return this.deployment?.revisions.at(-1)?.id ?? null;
  }

  get active(): string | null {
    return this.deployment?.activeRevisionId ?? null;
  }

  existing(): MemoryDeployment {
    if (this.deployment === null) throw failure('SLIPWAY_NOT_FOUND', { taken: false });
    return this.deployment;
  }

  #revision(revisionId: string): MemoryRevision {
    return this.controlPlane.revision(this.existing().id, revisionId);
  }
}
