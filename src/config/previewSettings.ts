import { type PreviewTerms, SMALLEST_RESOURCES } from '../domain/preview/preview.ts';
import { deploymentOf, pullRequestOf } from '../domain/preview/previewName.ts';
import { normalizeServiceUrl } from '../domain/target/targetSpec.ts';
import { chooseEntry } from './chooseEntry.ts';
import type { Config } from './configSchema.ts';
import type { PreviewConfig } from './previewSchema.ts';

const API_URLS = { github: 'https://api.github.com', gitlab: 'https://gitlab.com/api/v4' } as const;

export interface ChosenPreview {
  readonly name: string;
  readonly preview: PreviewConfig;
}

export function choosePreview(config: Config, wanted: string | undefined): ChosenPreview {
  const [name, preview] = chooseEntry(config, 'previews', wanted);
  return { name, preview };
}

export function previewTerms({ name, preview }: ChosenPreview, pr: number): PreviewTerms {
  const { ttl: ttlMs, comment } = preview;
  if (comment === undefined) return { name, pr, ttlMs };
  const { kind, token, repository } = comment;
  const apiUrl = normalizeServiceUrl(comment.apiUrl ?? API_URLS[kind]);
  return { name, pr, ttlMs, comment: { kind, apiUrl, token, repository } };
}

/** The file with a target for the preview: a copy of `from` without approval, freezes, soak and notifications. */
export function withPreview(config: Config, { preview }: ChosenPreview, pr: number): Config {
  const { from, deployment: pattern, resources, checks } = preview;
  const [, copied] = chooseEntry(config, 'targets', from);
  const deployment = deploymentOf(pattern, pr);
  // They belong to the deployment of `from`, and a preview has no guard.
  const {
    deploymentId: _,
    agentUrl: _1,
    approval: _2,
    freezes: _3,
    onError: _4,
    guard: _5,
    ...target
  } = copied;
  const isSized = target.source === 'external_image';
  return {
    ...config,
    checks: config.checks.filter(({ name }) => checks === undefined || checks.includes(name)),
    notify: [],
    targets: {
      ...config.targets,
      [deployment]: {
        ...target,
        deployment,
        soak: 0,
        queue: 'latest',
        resources: isSized ? (resources ?? { ...SMALLEST_RESOURCES }) : undefined,
      },
    },
  };
}

/** Whether a deployment is that of a preview of the file. */
export function isPreview({ previews }: Pick<Config, 'previews'>, deployment: string | undefined): boolean {
  return (
    deployment !== undefined &&
    Object.values(previews).some((preview) => pullRequestOf(preview.deployment, deployment) !== undefined)
  );
}

/** Adds the target of a preview to the file if a name is that of a preview: `slipway status greeter-pr-12`. */
export function withPreviewOf(config: Config, target: string | undefined): Config {
  if (target === undefined || target in config.targets) return config;
  for (const [name, preview] of Object.entries(config.previews)) {
    const pr = pullRequestOf(preview.deployment, target);
    if (pr !== undefined) return withPreview(config, { name, preview }, pr);
  }
  return config;
}
