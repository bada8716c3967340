import type { Actor } from '../actor.ts';
import type { ErrorCode } from '../errors.ts';
import { type Outcome, OUTCOMES } from '../release/outcome.ts';
import type { SecretReference } from '../target/targetSpec.ts';

/** All events that receivers are notified of: outcomes under their own names, and what leads to them. */
export const NOTICE_EVENTS = [
  /** A release begins; nothing was sent while it was queued. */
  'release_started',
  /** A release waits for a person: for approval, or for a decision. */
  'release_waiting',
  ...OUTCOMES,
  /** A rollback begins that was asked for while nothing ran. */
  'rollback_started',
  'hold_set',
  'hold_released',
  /** A promotion waits for a person: for approval, or for a decision. */
  'promotion_waiting',
  'promoted',
  /** A promotion ended without having promoted anything, or took it back. */
  'promotion_stopped',
] as const;

export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** What a notice says, before it gets its id and time. */
export interface NoticeContent {
  readonly event: NoticeEvent;
  /** The target's name in `slipway.yaml`; a promotion's is the one that it leads to. */
  readonly target: string;
  /** The id of the target's workflow: which target, whatever repositories call it. */
  readonly targetId: string;
  readonly kind: 'release' | 'rollback' | 'promotion' | 'hold';
  /** `release-3`, `rollback-4`, a promotion's name; `null` for a hold. */
  readonly name: string | null;
  /** How it ended; `null` where it has not. */
  readonly outcome: Outcome | null;
  /** Why: one sentence. */
  readonly reason: string;
  /** The code of the failure that ended it; `null` where nothing failed, or it has not ended. */
  readonly code: ErrorCode | null;
  /** What a person must do now; `null` if nothing. */
  readonly instructions: string | null;
  readonly artifact: string | null;
  readonly commit: string | null;
  /** The revision that a release made. */
  readonly revisionId: string | null;
  /** The revision that serves now, as far as is known. */
  readonly servingRevisionId: string | null;
  /** The commit of the revision that serves now, where Slipway shipped it. */
  readonly servingCommit: string | null;
  /** Who asked, from where, and why. */
  readonly by: Actor;
}

/**
 * What a receiver gets: the body of a plain webhook (`docs/notifications.md`). Fields may be added within a version;
 * none changes its meaning or goes away.
 */
export interface Notice extends NoticeContent {
  readonly version: 1;
  /** The same however often it is sent: by it a receiver drops what it has had. */
  readonly id: string;
  /** When it happened: ISO 8601. */
  readonly at: string;
}

/** A notice as it is sent. */
export interface SentNotice extends Notice {
  /** The page of what it is about; `null` if the worker knows no address of the page. */
  readonly dashboardUrl: string | null;
}

interface Named {
  /** The receiver's name in `slipway.yaml`. */
  readonly name: string;
  /** The events that it gets. Absent: all. */
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
  /** `owner/name`. Absent: it was unknown when the release was requested, and no status can be posted. */
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

/** A receiver of notices, as `slipway.yaml` has it: without any secret. */
export type ReceiverSpec = SlackReceiver | WebhookReceiver | GithubDeploymentReceiver | GithubStatusReceiver;

export const RECEIVER_KINDS = ['slack', 'webhook', 'github_deployment', 'github_status'] as const;

/** The most receivers of a file, and of a request. */
export const RECEIVERS_MAX = 20;

/** The receivers of an event. */
export function receiversOf(receivers: readonly ReceiverSpec[], event: NoticeEvent): readonly ReceiverSpec[] {
  return receivers.filter(({ events }) => events === undefined || events.includes(event));
}
