import { createHash } from 'node:crypto';

import type { TargetConfig } from '../../../config/configSchema.ts';
import { beforeReading, type DeclaredCheck } from '../../../config/datasetSchema.ts';
import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { choosePromotion } from '../../../config/promotionSettings.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { Artifact } from '../../../domain/artifact/artifact.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { ApprovalPolicy } from '../../../domain/intervention/intervention.ts';
import type { Injection } from '../../../domain/rehearsal/injection.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { Rehearsal, RehearsalEvent } from '../../../rehearsal/play.ts';
import { readInjections } from '../../../rehearsal/readInjections.ts';
import { rehearse } from '../../../rehearsal/rehearse.ts';
import { installTestServer } from '../../../temporal/server/installation/testServerInstallation.ts';
import { startTestServer } from '../../../temporal/server/testServer.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { ReadDatasets } from '../../datasets/readDatasets.ts';
import { INTERRUPTED, interruptible } from '../../interruption.ts';
import { readNamed } from '../../namedFile.ts';
import { artifactStoreOf } from '../artifact/artifactStoreOf.ts';
import { anyPort } from '../dev/ports.ts';
import { promotionRequest } from '../promotion/promotionRequest.ts';
import { releaseRequest } from '../release/releaseRequest.ts';
import { logOnStderr } from '../worker/workerLog.ts';
import { Story } from './story.ts';

export interface RehearseOptions extends FileOptions {
  readonly days: number;
  readonly with?: string;
  readonly inject?: readonly string[];
}

/**
 * `slipway rehearse [PROMOTION]`: runs the file's promotions with time skipping and the given injections, and prints
 * what would happen. Calls no Temporal service, control plane or agent.
 *
 * Decision: the exit code is 0 if the rehearsal ran, whatever its promotions' outcomes; `--json` has each outcome.
 */
export async function runRehearseCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: RehearseOptions,
): Promise<number> {
  const { output } = context;
  const began = performance.now();
  const file = await loadConfig(options.config);
  const names = promotionsOf(file, wanted);
  const rehearsal = await rehearsalOf(context, file, {
    names,
    days: options.days,
    injections: await injectionsOf(file, options),
  });
  const events: RehearsalEvent[] = [];
  return interruptible(async (signal) => {
    try {
      const { path: executable } = await installTestServer({
        onProgress: (line) => output.progress(line),
        signal,
        env: context.environment,
      });
      const port = await anyPort();
      const server = await startTestServer({ executable, port, signal });
      try {
        // The worker's log lines would interrupt the printed story.
        logOnStderr('ERROR');
        const rehearsed = await rehearse(server, rehearsal, {
          onEvent: (event) => events.push(event),
          signal,
        });
        new Story(output, rehearsal).print(rehearsed, events, performance.now() - began);
        return 0;
      } finally {
        await server.stop();
      }
    } catch (error) {
      if (!signal.aborted || error instanceof SlipwayError) throw error;
      output.event({ event: 'stopped' });
      output.note('stopped; nothing is left running');
      return INTERRUPTED;
    }
  });
}

function promotionsOf({ config }: LoadedConfig, wanted: string | undefined): readonly string[] {
  const names = Object.keys(config.promotions);
  return wanted === undefined && names.length > 1 ? names : [choosePromotion(config, wanted)];
}

async function injectionsOf(
  { config }: LoadedConfig,
  { with: file, inject = [] }: RehearseOptions,
): Promise<readonly Injection[]> {
  const known = { checks: config.checks.map(({ name }) => name), targets: Object.keys(config.targets) };
  const hint = 'slipway rehearse --help shows what it may contain';
  const read = async (path: string) => String(await readNamed(path, 'the file of injections', hint));
  const ofFile = file === undefined ? [] : readInjections(await read(file), file, known);
  return [...ofFile, ...inject.flatMap((sentence) => readInjections(sentence, '--inject', known))];
}

/** The requester of everything. No list of approvers contains this name. */
const REHEARSAL: Actor = { who: 'rehearsal', from: 'slipway rehearse' };

interface RehearsalWish {
  readonly names: readonly string[];
  readonly days: number;
  readonly injections: readonly Injection[];
}

/**
 * The rehearsal of the file's promotions. At the start, all targets serve the same artifact. Then a new version is
 * released on each target that a chain of promotions begins with.
 */
export async function rehearsalOf(
  context: CommandContext,
  file: LoadedConfig,
  { names, days, injections }: RehearsalWish,
): Promise<Rehearsal> {
  const { config } = file;
  const promotions = await Promise.all(
    names.map(async (name) => {
      const offline = (target: string) => Promise.resolve(specOf(file, target));
      const { request, settings } = await promotionRequest(context, file, name, REHEARSAL, offline, unread);
      return {
        request: { ...request, approval: unproved(request.approval) },
        schedule: settings.schedule ?? null,
      };
    }),
  );
  const ends = promotions.map(({ request }) => request.to.name);
  const begins = promotions.map(({ request }) => request.from.name);
  const store = artifactStoreOf(file, context).url;
  let version = 1;
  return {
    promotions,
    targets: Object.entries(config.targets).map(([name, target]) => ({
      spec: specOf(file, name),
      serves: artifactOfVersion(target, version, store),
    })),
    release: (name) => {
      version += 1;
      const settings = releaseSettings(config, name);
      const target = config.targets[name];
      if (target === undefined) throw new Error(`no target "${name}"`);
      return releaseRequest(
        { ...settings, checks: beforeReading(settings.checks), approval: unproved(settings.approval) },
        {
          target: specOf(file, name),
          artifact: artifactOfVersion(target, version, store),
          recordStore: store,
          requestedBy: REHEARSAL,
        },
      );
    },
    sources: [...new Set(begins.filter((name) => !ends.includes(name)))],
    days,
    injections,
    timeZone: promotions.find(({ schedule }) => schedule !== null)?.schedule?.timeZone ?? 'UTC',
  };
}

/** A rehearsal asks no agent, so it reads no dataset. */
function unread({ checks }: { readonly checks: readonly DeclaredCheck[] }): Promise<ReadDatasets> {
  return Promise.resolve({
    checks: beforeReading(checks),
    sources: new Map(),
    store: () => Promise.resolve(),
  });
}

/** A rehearsal has no sign-in. */
function unproved(approval: ApprovalPolicy | undefined): ApprovalPolicy | undefined {
  return approval && { ...approval, identity: undefined };
}

/** The target, without a call to its control plane. A deployment's id is used as its name if there is no other. */
function specOf({ config }: LoadedConfig, name: string): TargetSpec {
  const { target } = releaseSettings(config, name);
  return { ...target, deployment: target.deployment ?? target.deploymentId ?? name };
}

/** A version as an artifact of the target's source type. A branch stays a branch; promotions do not accept branches. */
function artifactOfVersion({ image, repo }: TargetConfig, version: number, store: string): Artifact {
  const digest = `sha256:${createHash('sha256').update(`rehearsed version ${version}`).digest('hex')}`;
  if (image !== undefined) return { kind: 'image', uri: `${image.replace(/@.*$/, '')}@${digest}` };
  if (repo !== undefined) return { kind: 'git', ref: repo.ref };
  return { kind: 'tarball', digest, sizeBytes: 0, store };
}
