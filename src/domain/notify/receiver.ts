import type { SecretReference } from '../target/targetSpec.ts';
import type { NoticeEvent } from './notice.ts';

interface Named {
  /** The receiver's name in `slipway.yaml`. */
  readonly name: string;
  /** What it is told of. Absent: everything. */
  readonly events?: readonly NoticeEvent[];
}

/** A Slack-compatible incoming webhook. Its URL is a credential, and so a reference. */
export interface SlackReceiver extends Named {
  readonly kind: 'slack';
  readonly url: SecretReference;
}

/** A plain webhook, which gets the notice as JSON, signed. */
export interface WebhookReceiver extends Named {
  readonly kind: 'webhook';
  readonly url: SecretReference;
  /** The key of the signature. */
  readonly secret: SecretReference;
}

interface GithubReceiver extends Named {
  /** The base URL of GitHub's API, without a slash at its end. */
  readonly apiUrl: string;
  readonly token: SecretReference;
  /** `owner/name`. Absent: nobody knew it when the release was asked for, and nothing can be told. */
  readonly repository?: string;
}

/** GitHub deployments, with their statuses. */
export interface GithubDeploymentReceiver extends GithubReceiver {
  readonly kind: 'github_deployment';
  /** GitHub's environment. Absent: the target's name. */
  readonly environment?: string;
}

/** Statuses of GitHub commits. */
export interface GithubStatusReceiver extends GithubReceiver {
  readonly kind: 'github_status';
  /** Under which name the status stands at the commit. Absent: `slipway/` and the target's name. */
  readonly context?: string;
}

/** Somebody who is told, as `slipway.yaml` has it: without one secret. */
export type ReceiverSpec = SlackReceiver | WebhookReceiver | GithubDeploymentReceiver | GithubStatusReceiver;

export const RECEIVER_KINDS = ['slack', 'webhook', 'github_deployment', 'github_status'] as const;

/** The most receivers of a file, and of a request. */
export const RECEIVERS_MAX = 20;

/** The receivers that want to be told of an event. */
export function receiversOf(receivers: readonly ReceiverSpec[], event: NoticeEvent): readonly ReceiverSpec[] {
  return receivers.filter(({ events }) => events === undefined || events.includes(event));
}
