import type { Actor } from '../actor.ts';
import type { ErrorCode } from '../errors.ts';
import { type Outcome, OUTCOMES } from '../release/outcome.ts';
import type { SecretReference } from '../target/targetSpec.ts';

/** All events that receivers can be notified of: the outcomes, and what leads to them. */
export const NOTICE_EVENTS = [
  /** A release starts. There is no notice when it is queued. */
  'release_started',
  /** A release waits for a person's approval or decision. */
  'release_waiting',
  ...OUTCOMES,
  /** A rollback of an idle target starts. */
  'rollback_started',
  /** An event that a hook received waits for a person's approval. */
  'hook_waiting',
  'hold_set',
  'hold_released',
  /** A promotion waits for a person's approval or decision. */
  'promotion_waiting',
  'promoted',
  /** A promotion ended without promoting anything, or undid it. */
  'promotion_stopped',
] as const;

export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

export interface NoticeContent {
  readonly event: NoticeEvent;
  /** The target's name in `slipway.yaml`; for a promotion, the target that it leads to. */
  readonly target: string;
  /** The id of the target's workflow, which is the same for all repositories. */
  readonly targetId: string;
  readonly kind: 'release' | 'rollback' | 'promotion' | 'hold' | 'hook';
  /** `release-3`, `rollback-4`, a promotion's name, the id of a hook's event; `null` for a hold. */
  readonly name: string | null;
  /** How it ended; `null` if it has not. */
  readonly outcome: Outcome | null;
  /** Why: one sentence. */
  readonly reason: string;
  /** The failure's code; `null` if nothing failed or it has not ended. */
  readonly code: ErrorCode | null;
  /** What a person must do now; `null` if nothing. */
  readonly instructions: string | null;
  readonly artifact: string | null;
  readonly commit: string | null;
  /** The revision that a release made. */
  readonly revisionId: string | null;
  /** The revision that serves now, if known. */
  readonly servingRevisionId: string | null;
  /** The commit of the revision that serves now, if Slipway deployed it. */
  readonly servingCommit: string | null;
  /** Who asked, from where, and why. */
  readonly by: Actor;
}

/** The body that a plain webhook receives (`docs/notifications.md`). Within a version, fields are only added. */
export interface Notice extends NoticeContent {
  readonly version: 1;
  /** The same for each delivery attempt, so that a receiver can drop duplicates. */
  readonly id: string;
  /** When it happened: ISO 8601. */
  readonly at: string;
}

export interface SentNotice extends Notice {
  /** The page of its subject; `null` if the worker does not know the page's address. */
  readonly dashboardUrl: string | null;
}

interface Named {
  /** The receiver's name in `slipway.yaml`. */
  readonly name: string;
  /** The events that it receives. Default: all. */
  readonly events?: readonly NoticeEvent[];
}

/** A Slack-compatible incoming webhook. Its URL is a credential, so it is a reference. */
export interface SlackReceiver extends Named {
  readonly kind: 'slack';
  readonly url: SecretReference;
}

/** A plain webhook. It receives the notice as signed JSON. */
export interface WebhookReceiver extends Named {
  readonly kind: 'webhook';
  readonly url: SecretReference;
  /** The signature's key. */
  readonly secret: SecretReference;
}

interface GithubReceiver extends Named {
  /** The base URL of GitHub's API, without a trailing slash. */
  readonly apiUrl: string;
  readonly token: SecretReference;
  /** `owner/name`. Absent: it was unknown when the release was requested, so no status can be posted. */
  readonly repository?: string;
}

/** GitHub deployments, with their statuses. */
export interface GithubDeploymentReceiver extends GithubReceiver {
  readonly kind: 'github_deployment';
  /** GitHub's environment. Default: the target's name. */
  readonly environment?: string;
}

export interface GithubStatusReceiver extends GithubReceiver {
  readonly kind: 'github_status';
  /** The name of the status. Default: `slipway/` and the target's name. */
  readonly context?: string;
}

/** A receiver of notices, as in `slipway.yaml`: without secrets. */
export type ReceiverSpec = SlackReceiver | WebhookReceiver | GithubDeploymentReceiver | GithubStatusReceiver;

export const RECEIVER_KINDS = ['slack', 'webhook', 'github_deployment', 'github_status'] as const;

/** The most receivers in a file and in a request. */
export const RECEIVERS_MAX = 20;

export function receiversOf(receivers: readonly ReceiverSpec[], event: NoticeEvent): readonly ReceiverSpec[] {
  return receivers.filter(({ events }) => events === undefined || events.includes(event));
}
