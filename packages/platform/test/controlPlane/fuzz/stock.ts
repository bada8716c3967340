import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { TestPlatform } from '../testPlatform.ts';

/** What exists during all requests: ids and names that are useful in a body. */
export interface Known {
  readonly listeners: readonly string[];
  readonly integrations: readonly string[];
  readonly objectPaths: readonly string[];
}

interface StockedDeployment {
  readonly id: string;
  revisions: string[];
}

/** A deployment that follows a branch, and the integration that signs its pushes. */
export interface FollowedStock {
  readonly deploymentId: string;
  readonly url: string;
  readonly integrationId: string;
  readonly secret: string;
  /** An integration without a webhook secret. */
  readonly silentId: string;
}

/** How many objects of each kind exist for removing requests. */
const TO_REMOVE = 3;
/** One in so many requests about a revision names another deployment's revision. */
const ASTRAY = 12;

const LISTENER = { compute_type: 'cluster', compute_config: { cluster_namespaces: ['default', 'a'] } };
const INTEGRATION = { url_prefix: 'https://git.invalid/' };
const KEY = { scope: 'read' };

/**
 * The real ids for the placeholders in paths, such as `{listener_id:3}`. They are made before the first request, and
 * again if an endpoint's requests use them up.
 */
export class Stock {
  known!: Known;
  followed!: FollowedStock;
  readonly #platform: TestPlatform;
  #deployments: StockedDeployment[] = [];
  #built!: StockedDeployment;
  #listeners: string[] = [];
  #integrations: string[] = [];
  /** By the removing endpoint. */
  readonly #toRemove: Record<string, string[]> = {
    deleteDeployment: [],
    deleteListener: [],
    deleteIntegration: [],
    revokeApiKey: [],
  };
  #made = 0;

  private constructor(platform: TestPlatform) {
    this.#platform = platform;
  }

  /** Fills a stock. With `settings`, the platform is then restarted, as after a kill. */
  static async fill(platform: TestPlatform, settings: Parameters<TestPlatform['start']>[0]): Promise<Stock> {
    const stock = new Stock(platform);
    await stock.#fill(settings);
    return stock;
  }

  async #fill(settings: Parameters<TestPlatform['start']>[0]): Promise<void> {
    const platform = this.#platform;
    const built = await platform.create('built');
    const revisions: string[] = [];
    for (let index = 0; index < 2; index += 1) {
      const revision = await platform.release(built);
      await platform.reaches(built, revision, 'DEPLOYED');
      revisions.push(revision);
    }
    this.#built = { id: built, revisions };
    await platform.start(settings);

    for (const source of ['repo_host', 'external_image', 'internal_image', 'internal_source']) {
      const buildable = source === 'repo_host' || source === 'internal_source';
      const id = await platform.create(source, {
        source,
        source_revision_config: buildable ? { graph_config_path: 'graph.json' } : {},
      });
      this.#deployments.push({ id, revisions: [(await platform.deployment(id)).latest_revision_id] });
    }
    const objectPaths = [await platform.upload(this.withUploads), await platform.upload(this.withUploads)];
    this.#listeners = [
      await platform.register('/v2/listeners', { ...LISTENER, compute_id: 'cluster' }),
      await platform.register('/v2/listeners', {
        compute_type: 'docker',
        compute_config: {},
        compute_id: 'docker',
      }),
    ];
    this.#integrations = [
      await platform.register('/v1/integrations/github/install', { ...INTEGRATION, name: 'git host' }),
    ];
    this.known = { listeners: this.#listeners, integrations: this.#integrations, objectPaths };
    this.followed = await this.#follow(this.#integrations[0]!);
  }

  get withUploads(): string {
    return this.#deployments[3]!.id;
  }

  /** The repository does not exist, so it has no branches. */
  async #follow(silentId: string): Promise<FollowedStock> {
    const secret = 'the webhook secret';
    const file = join(this.#platform.home, 'webhook-secret');
    await writeFile(file, secret);
    const url = join(this.#platform.home, 'no-repository');
    const integrationId = await this.#platform.register('/v1/integrations/github/install', {
      name: 'signed',
      url_prefix: url,
      webhook_secret: `file:${file}`,
    });
    const deploymentId = await this.#platform.create('followed', {
      source: 'repo_host',
      source_config: { integration_id: integrationId, repo_url: url, build_on_push: true },
      source_revision_config: { graph_config_path: 'graph.json', repo_ref: 'main' },
    });
    return { deploymentId, url, integrationId, secret, silentId };
  }

  /** The objects that a cleanup between requests keeps. */
  get kept(): {
    deployments: string[];
    revisions: string[];
    listeners: string[];
    integrations: string[];
    keys: string[];
  } {
    const stocked = [...this.#deployments, this.#built];
    const {
      deleteDeployment = [],
      deleteListener = [],
      deleteIntegration = [],
      revokeApiKey = [],
    } = this.#toRemove;
    return {
      deployments: [...stocked.map(({ id }) => id), this.followed.deploymentId, ...deleteDeployment],
      revisions: stocked.flatMap(({ revisions }) => revisions),
      listeners: [...this.#listeners, ...deleteListener],
      integrations: [...this.#integrations, this.followed.integrationId, ...deleteIntegration],
      keys: revokeApiKey,
    };
  }

  /** Makes the objects for the next request to an endpoint, if earlier ones used them up. */
  async replenish(endpoint: string): Promise<void> {
    if (endpoint === 'interruptRevision') await this.#somethingWaits();
    const rest = this.#toRemove[removed(endpoint)];
    while (rest !== undefined && rest.length < TO_REMOVE) rest.push(await this.#removable(removed(endpoint)));
  }

  /** A request was accepted, so its object may be gone. */
  used(endpoint: string, path: string): void {
    const rest = this.#toRemove[removed(endpoint)];
    for (const [id] of path.matchAll(/[0-9a-f-]{36}/gu)) {
      if (rest?.includes(id) === true) rest.splice(rest.indexOf(id), 1);
    }
  }

  /** A path with its placeholders filled in. */
  resolve(endpoint: string, path: string): string {
    let deployment: StockedDeployment | undefined;
    return path.replaceAll(/\{(\w+):(\d+)\}/gu, (_, name: string, digits: string) => {
      const number = Number(digits);
      switch (name) {
        case 'revision_id': {
          const own = number % ASTRAY > 0 ? deployment : this.#deployments[0];
          return pick((own ?? this.#deployments[0]!).revisions, number);
        }
        case 'listener_id':
          return pick(this.#toRemove[endpoint] ?? this.#listeners, number);
        case 'integration_id':
          return pick(this.#toRemove[endpoint] ?? this.#integrations, number);
        case 'key_id':
          return pick(this.#toRemove[endpoint] ?? [], number);
        default: {
          const expendable = this.#toRemove[removed(endpoint)];
          if (expendable !== undefined) return pick(expendable, number);
          deployment =
            endpoint === 'redeployRevision'
              ? this.#built
              : pick(this.#deploymentsFor(endpoint, number), number);
          return deployment.id;
        }
      }
    });
  }

  /** Uploads exist for one source only, and one deployment has a waiting revision. Most requests use those. */
  #deploymentsFor(endpoint: string, number: number): StockedDeployment[] {
    const isForOne = endpoint === 'interruptRevision' || endpoint.startsWith('createUploadUrl');
    return isForOne && number % ASTRAY > 0 ? this.#deployments.slice(3) : this.#deployments;
  }

  /** If the latest revision was stopped, makes another one that waits for a build. */
  async #somethingWaits(): Promise<void> {
    const buildable = this.#deployments[3]!;
    const latest = buildable.revisions.at(-1)!;
    if ((await this.#platform.status(buildable.id, latest)) === 'AWAITING_BUILD') return;
    const { json } = await this.#platform.patch(buildable.id, {
      source_revision_config: { source_tarball_path: this.known.objectPaths[0] },
    });
    buildable.revisions = [buildable.revisions[0]!, json.latest_revision_id];
  }

  async #removable(endpoint: string): Promise<string> {
    const name = `to remove ${(this.#made += 1)}`;
    switch (endpoint) {
      case 'deleteDeployment':
        return this.#platform.create(name);
      case 'deleteListener':
        return this.#platform.register('/v2/listeners', { ...LISTENER, compute_id: name });
      case 'deleteIntegration':
        return this.#platform.register('/v1/integrations/github/install', { ...INTEGRATION, name });
      default:
        return this.#platform.register('/v1/api-keys', { ...KEY, name });
    }
  }
}

/** Deployments are removed one by one, or several at once. */
function removed(endpoint: string): string {
  return endpoint === 'deleteDeployments' ? 'deleteDeployment' : endpoint;
}

function pick<T>(from: readonly T[], number: number): T {
  const picked = from[number % from.length];
  if (picked === undefined) throw new Error('There is nothing in stock.');
  return picked;
}
