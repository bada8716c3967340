/** What reading a repository may take. More than that fails with a reason that says so. */
export interface GitLimits {
  /** How long one fetch may take, in ms. */
  readonly fetchTimeoutMs: number;
  /** How long asking for the refs may take, in ms. */
  readonly askTimeoutMs: number;
  /** The largest pack, and the largest compressed tree, in bytes. */
  readonly fileBytes: number;
}

/** 5 minutes to fetch, 30 seconds to ask, 1 GiB. What the tree unpacks to is bounded by the builder. */
export const DEFAULT_GIT_LIMITS: GitLimits = {
  fetchTimeoutMs: 5 * 60_000,
  askTimeoutMs: 30_000,
  fileBytes: 1024 ** 3,
};
