import type { Agent } from 'undici';

import { createGithubClient, type GithubClient } from '../../clients/notify/github.ts';
import { postWebhook, signature } from '../../clients/notify/webhook.ts';
import { secretAddress, secretFor } from '../../config/secretOrigins.ts';
import { linkedNotice } from '../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type {
  GithubDeploymentReceiver,
  GithubStatusReceiver,
  Notice,
  ReceiverSpec,
  SentNotice,
  SlackReceiver,
  WebhookReceiver,
} from '../../domain/notify/notice.ts';
import { slackText } from '../../domain/notify/noticeText.ts';
import type { Activities } from '../activities.ts';
import { callOptions, SHORT_CALL_MS } from '../callOptions.ts';
import type { Connections } from '../connections.ts';
import type { Untracked } from '../track.ts';
import { sendCommitStatus, sendDeploymentStatus } from './githubNotices.ts';

/** Notifies receivers. References to their URLs, keys and tokens are resolved here. */
export function noticeActivities(
  connections: Connections,
  dashboard: string | null,
): Untracked<Pick<Activities, 'sendNotice'>> {
  return {
    async sendNotice({ receiver, notice }) {
      const linked = linkedNotice(notice, dashboard);
      return { detail: await send(connections.receivers(), receiver, linked) };
    },
  };
}

function send(agent: Agent, receiver: ReceiverSpec, notice: SentNotice): Promise<string> {
  switch (receiver.kind) {
    case 'slack':
      return post(agent, receiver, notice, JSON.stringify({ text: slackText(notice) }));
    case 'webhook':
      return postSigned(agent, receiver, notice);
    case 'github_deployment':
      return sendDeploymentStatus(github(agent, receiver), receiver, notice);
    case 'github_status':
      return sendCommitStatus(github(agent, receiver), receiver, notice);
  }
}

function postSigned(agent: Agent, receiver: WebhookReceiver, notice: SentNotice): Promise<string> {
  const body = JSON.stringify(notice);
  const secret = secretFor(receiver.secret, secretAddress(receiver.url), { shown: 'the webhook' });
  const headers = { 'slipway-signature': signature(body, secret, Math.floor(Date.now() / 1_000)) };
  return post(agent, receiver, notice, body, { headers, secrets: [secret] });
}

async function post(
  agent: Agent,
  { name, url }: SlackReceiver | WebhookReceiver,
  { id, event }: Notice,
  body: string,
  {
    headers = {},
    secrets = [],
  }: { headers?: Readonly<Record<string, string>>; secrets?: readonly string[] } = {},
): Promise<string> {
  const ownHeaders = { 'slipway-event': event, 'slipway-delivery': id };
  const status = await postWebhook(
    agent,
    {
      url: secretAddress(url),
      called: `the webhook "${name}"`,
      headers: { ...ownHeaders, ...headers },
      body,
      secrets,
    },
    callOptions(SHORT_CALL_MS),
  );
  return `answered ${status}`;
}

/** @throws SLIPWAY_CONFIG_INVALID if the repository was unknown when the release was requested. */
function github(
  agent: Agent,
  { name, apiUrl, token, repository }: GithubDeploymentReceiver | GithubStatusReceiver,
): GithubClient {
  if (repository === undefined) {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `the receiver "${name}" has no repository`, {
      hint: `set the repository under notify; neither CI nor the git remote "origin" names one`,
    });
  }
  return createGithubClient(
    agent,
    { apiUrl, repository, token: secretFor(token, apiUrl) },
    callOptions(SHORT_CALL_MS),
  );
}
