import { type FaultyService, json, startService } from '../../clients/faultyService.ts';

interface Status {
  readonly state: string;
  readonly description: string;
  readonly context?: string;
  readonly created_at?: string;
}

/** A fake GitHub with the deployments and statuses of one repository, newest first, in its REST API's format. */
export interface GithubUnderTest extends FaultyService {
  readonly deployments: {
    id: number;
    ref: string;
    environment: string;
    payload: unknown;
    statuses: Status[];
  }[];
  readonly statuses: Status[];
  /** Processes the next request, then closes the connection without an answer. */
  losesAnswerOf(method: 'POST'): void;
}

/** The accepted token. */
export const GITHUB_TOKEN = 'ghp_a-token-of-github';
const REPOSITORY = '/repos/owner/name';

/** Starts a GitHub under `/api/v3`, like an Enterprise Server. Stopped after the test. */
export async function startGithub(): Promise<GithubUnderTest> {
  const deployments: GithubUnderTest['deployments'] = [];
  const statuses: Status[] = [];
  let losing: string | undefined;
  const service = await startService(({ method, url, headers, body }, response) => {
    if (headers.authorization !== `Bearer ${GITHUB_TOKEN}`) {
      json(response, 401, { message: `Bad credentials: ${headers.authorization ?? ''}` });
      return;
    }
    const { pathname, searchParams } = new URL(url, 'http://github.test');
    const path = pathname.replace(`/api/v3${REPOSITORY}`, '');
    const sent = (body === '' ? {} : JSON.parse(body)) as Record<string, never>;
    const answer = (value: unknown, more = {}): void => {
      if (losing === method) {
        losing = undefined;
        response.destroy();
      } else json(response, method === 'POST' ? 201 : 200, value, more);
    };
    const deployment = deployments.find(({ id }) => path === `/deployments/${id}/statuses`);
    if (path === '/deployments' && method === 'GET') {
      const [ref, environment] = [searchParams.get('ref'), searchParams.get('environment')];
      const isOf = (other: { ref: string }) => ref === null || other.ref === ref;
      answer(deployments.filter((other) => isOf(other) && other.environment === environment));
    } else if (path === '/deployments') {
      const created = {
        id: deployments.length + 1,
        ...(sent as { ref: never; environment: never; payload: never }),
      };
      deployments.unshift({ ...created, statuses: [] });
      answer(created);
    } else if (deployment !== undefined && method === 'GET') answer(deployment.statuses);
    else if (deployment !== undefined) {
      deployment.statuses.unshift(sent as unknown as Status);
      answer(sent);
    } else if (/^\/commits\/[0-9a-f]{40}\/statuses$/u.test(path)) {
      const end = 100 * Number(searchParams.get('page') ?? '1');
      answer(statuses.slice(end - 100, end), end < statuses.length ? { link: '<x>; rel="next"' } : {});
    } else if (/^\/statuses\/[0-9a-f]{40}$/u.test(path)) {
      const created = { ...(sent as unknown as Status), created_at: new Date().toISOString() };
      statuses.unshift(created);
      answer(created);
    } else json(response, 404, { message: 'Not Found' });
  });
  return { ...service, deployments, statuses, losesAnswerOf: (method) => (losing = method) };
}
