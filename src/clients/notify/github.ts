import type { Agent } from 'undici';
import { z } from 'zod';

import type { CommitState, DeploymentState } from '../../domain/notify/githubStates.ts';
import { isRecord, parsedJson } from '../../domain/scalars.ts';
import type { CallOptions } from '../exchange.ts';
import { type AskRest, restApi } from './restApi.ts';

interface GithubDeployment {
  readonly id: number;
  /** The key with which Slipway created it; `null` for another tool's deployment. */
  readonly key: string | null;
}

interface NewDeployment {
  readonly commit: string;
  readonly environment: string;
  readonly description: string;
  /** Identifies the deployment as Slipway's own. */
  readonly key: string;
}

export interface GithubStatus<State extends string = string> {
  readonly state: State;
  readonly description: string;
}

interface GithubCommitStatus extends GithubStatus {
  /** When it was created: ISO 8601, in whole seconds. */
  readonly createdAt: string;
}

export interface GithubRepository {
  /** The API's base URL: `https://api.github.com`, or `https://HOST/api/v3` of a GitHub Enterprise Server. */
  readonly apiUrl: string;
  readonly token: string;
  /** `owner/name`. */
  readonly repository: string;
}

/** The task of all deployments that Slipway creates, for people who filter by it. */
const TASK = 'deploy';

const PAGES_MAX = 50;

const Deployment = z.object({ id: z.int(), payload: z.unknown() });
const Status = z.object({ state: z.string(), description: z.string().nullish() });
const CommitStatus = Status.extend({ context: z.string(), created_at: z.string() });

export type GithubClient = ReturnType<typeof createGithubClient>;

/**
 * Creates a client for one repository: deployments with their statuses, and statuses of commits.
 * @param call - the limits of each call.
 */
export function createGithubClient(agent: Agent, repository: GithubRepository, call: CallOptions) {
  const ask = githubApi(agent, repository, call);
  return {
    /** The newest deployments in an environment, at most 100. @param commit - only those of this commit. */
    async deployments(environment: string, commit?: string): Promise<readonly GithubDeployment[]> {
      const query = {
        ...(commit !== undefined && { ref: commit }),
        environment,
        task: TASK,
        per_page: '100',
      };
      const found = await ask('GET', 'deployments', z.array(Deployment), { query });
      return found.map(ours);
    },
    async createDeployment(deployment: NewDeployment): Promise<GithubDeployment> {
      const { commit, environment, description, key } = deployment;
      const body = {
        ref: commit,
        task: TASK,
        environment,
        description,
        payload: { slipway: key },
        // GitHub must neither merge nor wait for checks: the decision to release was made elsewhere.
        auto_merge: false,
        required_contexts: [],
      };
      return ours(await ask('POST', 'deployments', Deployment, { body }));
    },
    async deploymentStatuses(id: number): Promise<readonly GithubStatus[]> {
      const query = { per_page: '100' };
      const found = await ask('GET', `deployments/${id}/statuses`, z.array(Status), { query });
      return found.map(statusOf);
    },
    async createDeploymentStatus(
      id: number,
      status: GithubStatus<DeploymentState> & { readonly environment: string; readonly url?: string },
    ): Promise<void> {
      const { state, description, environment, url } = status;
      const body = { state, description, environment, log_url: url };
      await ask('POST', `deployments/${id}/statuses`, z.unknown(), { body });
    },
    /**
     * The statuses of a commit in a context, newest first, up to one whose description begins so. Other tools may have set
     * hundreds.
     */
    async commitStatuses(
      commit: string,
      context: string,
      begins: string,
    ): Promise<readonly GithubCommitStatus[]> {
      const statuses: GithubCommitStatus[] = [];
      const list = { hasNext: true };
      const onPage = (hasNext: boolean): void => void (list.hasNext = hasNext);
      for (let page = 1; list.hasNext && page <= PAGES_MAX; page++) {
        const query = { per_page: '100', page: String(page) };
        const found = await ask('GET', `commits/${commit}/statuses`, z.array(CommitStatus), {
          query,
          onPage,
        });
        for (const status of found.filter((each) => each.context === context)) {
          statuses.push({ ...statusOf(status), createdAt: status.created_at });
          if (statusOf(status).description.startsWith(begins)) return statuses;
        }
      }
      return statuses;
    },
    async createCommitStatus(
      commit: string,
      status: GithubStatus<CommitState> & { readonly context: string; readonly url?: string },
    ): Promise<void> {
      const { state, description, context, url } = status;
      const body = { state, description, context, target_url: url };
      await ask('POST', `statuses/${commit}`, z.unknown(), { body });
    },
  };
}

export function githubApi(
  agent: Agent,
  { apiUrl, token, repository }: GithubRepository,
  call: CallOptions,
): AskRest {
  return restApi(
    agent,
    {
      baseUrl: `${apiUrl}/repos/${repository}`,
      called: 'GitHub',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
      },
      token,
      template: (path) => `/repos/{repository}/${path.replaceAll(/(?<=\/)(?:\d+|[0-9a-f]{40})/gu, '{id}')}`,
    },
    call,
  );
}

/** GitHub returns a deployment's payload unchanged or as JSON text. */
function ours({ id, payload }: z.infer<typeof Deployment>): GithubDeployment {
  const fields = typeof payload === 'string' ? parsedJson(payload) : payload;
  const key = isRecord(fields) ? fields['slipway'] : null;
  return { id, key: typeof key === 'string' ? key : null };
}

function statusOf({ state, description }: z.infer<typeof Status>): GithubStatus {
  return { state, description: description ?? '' };
}
