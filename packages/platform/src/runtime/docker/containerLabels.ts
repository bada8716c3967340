/** Whose container it is: written on it as labels, by which it is found again. */
export interface ContainerOwner {
  /** The platform: it keeps its name through restarts, and no other platform on the same engine has it. */
  readonly platform: string;
  /** The platform's process: another one has taken over from it when its containers are left behind. */
  readonly process: string;
  readonly deploymentId: string;
  readonly revisionId: string;
}

const LABELS = {
  platform: 'slipway.platform',
  process: 'slipway.process',
  deploymentId: 'slipway.deployment',
  revisionId: 'slipway.revision',
} as const satisfies Record<keyof ContainerOwner, string>;

/** The arguments that label a container. */
export function labelArguments(owner: ContainerOwner): string[] {
  return (Object.keys(LABELS) as (keyof ContainerOwner)[]).flatMap((part) => [
    '--label',
    `${LABELS[part]}=${owner[part]}`,
  ]);
}

/** The arguments that let only a platform's containers through, with the process that each is of as its format. */
export function ofPlatformArguments(platform: string): string[] {
  return [
    '--filter',
    `label=${LABELS.platform}=${platform}`,
    '--format',
    `{{.ID}} {{.Label "${LABELS.process}"}}`,
  ];
}

/** Labels that begin so are the platform's own. */
export const OWN_LABEL_PREFIX = 'slipway.';
