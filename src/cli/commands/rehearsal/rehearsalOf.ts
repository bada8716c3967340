import { createHash } from 'node:crypto';

import type { TargetConfig } from '../../../config/configSchema.ts';
import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { Artifact } from '../../../domain/artifact/artifact.ts';
import type { Injection } from '../../../domain/rehearsal/injection.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { Rehearsal } from '../../../rehearsal/play.ts';
import type { CommandContext } from '../../context.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { promotionRequest } from '../promotion/promotionRequest.ts';
import { releaseRequest } from '../release/releaseRequest.ts';
import { declaredSchedule } from '../schedule/declaredSchedule.ts';

/** Who asks for everything: nobody whose name stands in a list of approvers. */
const REHEARSAL: Actor = { who: 'rehearsal', from: 'slipway rehearse' };

/** What is asked of the file. */
export interface RehearsalWish {
  /** The promotions. */
  readonly names: readonly string[];
  readonly days: number;
  readonly injections: readonly Injection[];
}

/**
 * The rehearsal of promotions of the file. A new version is released at the beginning on each target that they begin
 * with; on all of them the same artifact has been serving.
 *
 * @throws SlipwayError SLIPWAY_JUDGE_INPUTS_INVALID.
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
      const { request } = await promotionRequest(context, file, name, REHEARSAL, offline);
      const schedule = config.promotions[name]?.schedule;
      return { request, schedule: schedule === undefined ? null : declaredSchedule(schedule) };
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
      return releaseRequest(settings, {
        target: specOf(file, name),
        artifact: artifactOfVersion(target, version, store),
        recordStore: store,
        requestedBy: REHEARSAL,
      });
    },
    sources: [...new Set(begins.filter((name) => !ends.includes(name)))],
    days,
    injections,
    timeZone: promotions.find(({ schedule }) => schedule !== null)?.schedule?.timeZone ?? 'UTC',
  };
}

/** The target, without asking its control plane: where the file has the deployment's id alone, that is its name here. */
function specOf({ config }: LoadedConfig, name: string): TargetSpec {
  const { target } = releaseSettings(config, name);
  return { ...target, deployment: target.deployment ?? target.deploymentId ?? name };
}

/** A version as the target's source has it. A branch stays a branch, which no promotion takes. */
function artifactOfVersion({ image, repo }: TargetConfig, version: number, store: string): Artifact {
  const digest = `sha256:${createHash('sha256').update(`rehearsed version ${version}`).digest('hex')}`;
  if (image !== undefined) return { kind: 'image', uri: `${image.replace(/@.*$/, '')}@${digest}` };
  if (repo !== undefined) return { kind: 'git', ref: repo.ref };
  return { kind: 'tarball', digest, sizeBytes: 0, store };
}
