import pLimit from 'p-limit';

import { SlipwayError } from '../../domain/errors.ts';
import type { UnderWay } from '../../domain/heartbeat.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { Running } from '../../domain/target/targetState.ts';
import type { Machine } from '../../inspection/deployment/deploymentAccess.ts';
import { newestBuildLines } from '../../inspection/deployment/newestBuildLines.ts';
import { type DeploymentSeen, seeDeployment } from '../../inspection/deployment/seeDeployment.ts';
import { progressQuery } from '../../messages/release.ts';
import { type TargetView, viewQuery } from '../../messages/target.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import type { TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import { pause } from '../../temporal/client/pause.ts';
import { HistoryNews } from '../../temporal/client/release/historyNews.ts';
import { runningCallOf } from '../../temporal/client/release/pastReleases.ts';
import { viewTarget } from '../../temporal/client/target/targetClient.ts';
import { type KeptTarget, readKeptTarget } from '../../temporal/history/keptTarget.ts';
import type { FirstReads } from './firstReads.ts';
import { type GuardOnPage, guardWatch } from './guardWatch.ts';
import type { HookWatches } from './hookWatches.ts';

const SPACING_MS = 100;
/** The longest time between two reads of a target, in milliseconds, even if its history does not grow. */
const TARGET_WAIT_MS = 60_000;
/** The same for a release, because heartbeats of its activities add no event. */
const RELEASE_WAIT_MS = 2_000;
const DEPLOYMENT_EVERY_MS = 30_000;
const BUILD_LOG_EVERY_MS = 2_000;
const CALL_TIMEOUT_MS = 5_000;
/** Ended releases of a target that never answered: how many are read, how often, for how many targets at once. */
const KEPT_READ = 3;
const KEPT_EVERY_MS = 30_000;
const keptReads = pLimit(4);
const SILENT_PAUSE_MS = 1_000;
/** The time between two reads of a target that was terminated, in milliseconds. The next command starts it again. */
const ENDED_PAUSE_MS = 2_000;

/** What the page reads with. */
export interface ReadContext extends Machine {
  readonly temporal: TemporalConnection;
}

/** Watches one target by the histories of its workflow and its running work: each change causes one query. */
export class TargetWatch {
  #snapshot: TargetSnapshot;
  readonly #context: ReadContext;
  readonly #onChange: (snapshot: TargetSnapshot) => void;
  readonly #firstReads: FirstReads;
  readonly #hooks: HookWatches;
  readonly #stopping = new AbortController();
  readonly #seeGuard: ReturnType<typeof guardWatch>;
  #watched: string | undefined;
  #deploymentSeenAt = 0;
  #buildLogReadAt = 0;
  #keptReadAt = 0;
  #followsHooks = false;

  /** @param onChange - called at each change, and once at the first answer. */
  constructor(
    context: ReadContext,
    target: Pick<TargetSnapshot, 'workflowId' | 'name'>,
    onChange: (snapshot: TargetSnapshot) => void,
    firstReads: FirstReads,
    hooks: HookWatches,
  ) {
    this.#context = context;
    this.#firstReads = firstReads;
    this.#hooks = hooks;
    this.#seeGuard = guardWatch(context.temporal, (guard) => this.#change({ guard }), this.#stopping.signal);
    this.#snapshot = unreadTarget(target);
    this.#onChange = onChange;
    void this.#watchTarget();
  }

  get snapshot(): TargetSnapshot {
    return this.#snapshot;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #watchTarget(): Promise<void> {
    const { workflowId } = this.#snapshot;
    const { signal } = this.#stopping;
    const news = new HistoryNews(this.#context.temporal, workflowId, SPACING_MS);
    const isRead = this.#firstReads.begin();
    await this.#firstReads.turn(signal);
    let hadEnded = false;
    let hasEnded = false;
    while (!signal.aborted) {
      const answered = await this.#readTarget(hasEnded);
      isRead();
      await this.#firstReads.over();
      this.#lookAround();
      // A run that continued as new has a successor, which does not end at once.
      if (hadEnded && hasEnded) await pause(ENDED_PAUSE_MS, signal);
      hadEnded = hasEnded;
      if (answered) hasEnded = await news.wait(TARGET_WAIT_MS, signal);
      else await pause(SILENT_PAUSE_MS, signal);
    }
    isRead();
  }

  /**
   * @param hasEnded - its workflow was terminated: its running release may have ended unseen.
   * @returns whether the target answered.
   */
  async #readTarget(hasEnded: boolean): Promise<boolean> {
    const { temporal } = this.#context;
    const { workflowId, name } = this.#snapshot;
    try {
      const view = hasEnded
        ? await viewTarget(temporal, workflowId)
        : await this.#call(() => temporal.client.workflow.getHandle(workflowId).query(viewQuery));
      if (view === undefined || view.recovering === true) return await this.#explainSilence();
      const { running } = view;
      if (running === null) this.#change({ progress: undefined, call: null, buildLog: [] });
      this.#change({ view, name: view.state.spec?.name ?? name, silence: undefined, kept: undefined });
      if (running !== null && running.workflowId !== this.#watched) void this.#watchRelease(running);
      void this.#lookAtDeployment();
      return true;
    } catch {
      return this.#explainSilence();
    }
  }

  #lookAround(): void {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#seeGuard(this.#snapshot.view?.state.guard);
    if (this.#followsHooks) return;
    this.#followsHooks = true;
    const end = this.#hooks.follow(this.#snapshot.workflowId, (hooks) => this.#change({ hooks }));
    signal.addEventListener('abort', end, { once: true });
  }

  /** Queries once more, in a way that finds out why there is no answer. */
  async #explainSilence(): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false;
    try {
      const view = await viewTarget(this.#context.temporal, this.#snapshot.workflowId);
      if (view !== undefined) {
        this.#change({ view, silence: undefined, kept: undefined });
        return true;
      }
      this.#silent('its workflow has ended in Temporal', undefined);
    } catch (error) {
      if (error instanceof SlipwayError) this.#silent(error.message, error.hint);
      else this.#silent('it could not be asked', undefined);
    }
    return false;
  }

  #silent(why: string, hint: string | undefined): void {
    const since = this.#snapshot.silence?.since ?? Date.now();
    this.#change({ silence: { why, hint, since } });
    void this.#readKept();
  }

  /** If no worker answers: reads from Temporal what it knows of a target that this process has never read. */
  async #readKept(): Promise<void> {
    if (this.#snapshot.view !== undefined || Date.now() - this.#keptReadAt < KEPT_EVERY_MS) return;
    this.#keptReadAt = Date.now();
    const { workflowId } = this.#snapshot;
    try {
      const kept = await keptReads(() => readKeptTarget(this.#context.temporal, workflowId, KEPT_READ));
      this.#change({ kept });
    } catch {
      // Temporal does not answer: the snapshot shows already why the target is silent.
    }
  }

  async #watchRelease({ workflowId }: Running): Promise<void> {
    this.#watched = workflowId;
    const { signal } = this.#stopping;
    const news = new HistoryNews(this.#context.temporal, workflowId, SPACING_MS);
    while (!signal.aborted && this.#watched === workflowId) {
      const runs = await this.#readRelease(workflowId);
      if (!runs) break;
      void this.#lookAtBuild();
      await news.wait(RELEASE_WAIT_MS, signal);
    }
    if (this.#watched === workflowId) this.#watched = undefined;
  }

  /** @returns whether the release may still run. */
  async #readRelease(workflowId: string): Promise<boolean> {
    const handle = this.#context.temporal.client.workflow.getHandle(workflowId);
    try {
      const [described, progress] = await Promise.all([
        this.#call(() => handle.describe()),
        this.#call(() => handle.query(progressQuery)),
      ]);
      if (this.#snapshot.view?.running?.workflowId !== workflowId) return false;
      const call = await runningCallOf(this.#context.temporal.settings, described);
      this.#change({ progress, call: call ?? progress.found ?? null });
      return described.status.name === 'RUNNING';
    } catch {
      // The target's watch finds out whether the release still runs, and why nothing answers.
      await pause(SILENT_PAUSE_MS, this.#stopping.signal);
      return this.#snapshot.view?.running?.workflowId === workflowId;
    }
  }

  async #lookAtDeployment(): Promise<void> {
    const { state } = this.#snapshot.view ?? {};
    if (state?.spec == null || Date.now() - this.#deploymentSeenAt < DEPLOYMENT_EVERY_MS) return;
    this.#deploymentSeenAt = Date.now();
    await this.#firstReads.over();
    this.#change({ deployment: await seeDeployment(this.#context, state.spec) });
  }

  async #lookAtBuild(): Promise<void> {
    const { progress, view } = this.#snapshot;
    const spec = view?.state.spec ?? null;
    if (progress === undefined || spec === null) return;
    if (Date.now() - this.#buildLogReadAt < BUILD_LOG_EVERY_MS) return;
    this.#buildLogReadAt = Date.now();
    this.#change({
      buildLog: await newestBuildLines(this.#context, spec, progress, this.#stopping.signal),
    });
  }

  #change(changes: Partial<{ [Field in keyof TargetSnapshot]: TargetSnapshot[Field] | undefined }>): void {
    if (this.#stopping.signal.aborted) return;
    const changed = { ...this.#snapshot, ...changes };
    const isSame = JSON.stringify(changed) === JSON.stringify(this.#snapshot);
    this.#snapshot = changed;
    if (!isSame) this.#onChange(changed);
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return this.#context.temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, call);
  }
}

export interface TargetSnapshot extends UnderWay {
  readonly workflowId: string;
  /** Its name in `slipway.yaml`; its workflow's id until the target has answered. */
  readonly name: string;
  /** The target's newest answer. `undefined`: it has not answered yet. */
  readonly view: TargetView | undefined;
  readonly progress: Progress | undefined;
  /** What Temporal knows of a target that has never answered. Absent: it has answered, or was not read. */
  readonly kept?: KeptTarget;
  /** The hooks whose rules have asked it, or may. Those that were not read yet are missing. */
  readonly hooks: readonly TargetHook[];
  /** The guard of its view. Absent: it has none, or that was not read yet. */
  readonly guard?: GuardOnPage;
  /** What serves according to the control plane; a sentence if it could not be read. `undefined`: not read yet. */
  readonly deployment: DeploymentSeen | string | undefined;
  /** Why the target does not answer, and since when (milliseconds since 1970). Absent: it answers. */
  readonly silence?: { readonly why: string; readonly hint: string | undefined; readonly since: number };
}

export function unreadTarget({
  workflowId,
  name,
}: Pick<TargetSnapshot, 'workflowId' | 'name'>): TargetSnapshot {
  return {
    workflowId,
    name,
    view: undefined,
    progress: undefined,
    call: null,
    buildLog: [],
    hooks: [],
    deployment: undefined,
  };
}
