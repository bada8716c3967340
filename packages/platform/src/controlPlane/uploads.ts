import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { ARTIFACT_MAX_BYTES } from '@slipway/contract/limits';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Logger } from 'pino';

import { hashOfKey } from '../access/apiKeys.ts';
import { announceChange, recordAudit, recordOutcome } from '../access/audit.ts';
import type { Caller, Origin } from '../access/caller.ts';
import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';
import { findDeployment } from './deploymentRows.ts';
import { type HomeLayout, listNames } from './homeLayout.ts';
import { sourcePath } from './retention.ts';

/** How long an upload URL is valid, in milliseconds: an hour. */
export const UPLOAD_URL_MS = 3_600_000;

/** How long to keep an object path that no revision uses, in milliseconds: a day. */
const UNUSED_KEPT_MS = 86_400_000;

interface UploadsOptions {
  readonly kysely: Kysely<Schema>;
  readonly home: HomeLayout;
  readonly log: Logger;
  /** The largest upload, in bytes; default: 200 MB. */
  readonly maxBytes?: number;
}

/** Issues object paths and receives their uploads. */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #maxBytes: number;
  /** The names of the temporary files of running uploads. */
  readonly #running = new Set<string>();

  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? ARTIFACT_MAX_BYTES;
  }

  /**
   * A new object path of a deployment, and the token that permits one upload to it, of exactly `contentLength` bytes if
   * given. Of the token only a digest is stored.
   * @throws HttpProblem 404; 400 for a deployment that is not built from uploads, or while it is being deleted; 413.
   */
  async offer(caller: Caller, deploymentId: string, contentLength: number | null = null) {
    const objectPath = `tarballs/${deploymentId}/${randomUUID()}.tar.gz`;
    const token = randomBytes(32).toString('base64url');
    await this.#options.kysely.transaction().execute(async (trx) => {
      const { source } = await findDeployment(trx, caller, deploymentId, { forChange: true });
      if (source !== 'internal_source') {
        const detail = `Deployment ID ${deploymentId} has source ${source}, which accepts no uploads.`;
        throw new HttpProblem(400, detail);
      }
      if ((contentLength ?? 0) > this.#maxBytes) throw tooLarge(this.#maxBytes);
      const row = {
        object_path: objectPath,
        deployment_id: deploymentId,
        created_at: new Date(),
        token_hash: hashOfKey(token),
        content_length: contentLength,
        key_id: caller.keyId,
        key_name: caller.keyName,
      };
      await trx.insertInto('uploads').values(row).execute();
    });
    return { objectPath, token };
  }

  /**
   * Stores a body under the token's object path. It is written to a temporary file, synced and renamed, so it
   * exists completely or not at all. A broken upload may be repeated. A complete one is final, so that a revision
   * is made from the first upload. The audit log records the upload for the key that requested the URL, with its
   * origin, also if it is refused.
   * @param declaredSize `Content-Length`, if given.
   * @throws HttpProblem 403 for an unknown or expired token, 404 if the deployment is gone meanwhile, 413 over 200 MB,
   * 400 for an empty body or another size than declared, 409 if an upload exists.
   */
  async receive(
    token: string,
    body: AsyncIterable<Uint8Array>,
    declaredSize: number | undefined,
    from: Origin,
  ) {
    const { kysely, log } = this.#options;
    const grant = await findGrant(kysely, token, from);
    try {
      // Before the body is read.
      if (declaredSize !== undefined && declaredSize > this.#maxBytes) throw tooLarge(this.#maxBytes);
      checkLength(declaredSize, grant.contentLength);
      if (grant.isUsed) throw alreadyUsed();
      return await this.#store(grant, body);
    } catch (error) {
      const isRefused = error instanceof HttpProblem;
      await recordOutcome(kysely, grant.caller, {
        outcome: isRefused ? 'refused' : 'failed',
        status: isRefused ? error.status : null,
      }).catch((failure: unknown) => log.error({ err: failure }, 'an upload could not be recorded'));
      throw error;
    }
  }

  /** Removes abandoned uploads, and objects that no revision used within a day. */
  async clean(): Promise<void> {
    const { kysely, home } = this.#options;
    const oldest = new Date(Date.now() - UNUSED_KEPT_MS);
    const isUnused = sql<boolean>`uploads.created_at < ${oldest} and not exists (select 1 from revisions
      where revisions.deployment_id = uploads.deployment_id and ${sourcePath} = uploads.object_path)`;
    const unused = await kysely.transaction().execute(async (trx) => {
      // A PATCH locks the upload that it uses. The second statement sees the revisions of those that have ended.
      const locked = trx.selectFrom('uploads').select('object_path').where(isUnused);
      const paths = (await locked.forUpdate().skipLocked().execute()).map((row) => row.object_path);
      if (paths.length === 0) return [];
      const deletion = trx.deleteFrom('uploads').where('object_path', 'in', paths).where(isUnused);
      return deletion.returning('object_path').execute();
    });
    for (const { object_path } of unused) await rm(home.object(object_path), { force: true });
    // Killed processes left them.
    for (const name of await listNames(home.incoming)) {
      if (!this.#running.has(name)) await rm(join(home.incoming, name), { force: true });
    }
  }

  async #store({ objectPath, contentLength, caller }: Grant, body: AsyncIterable<Uint8Array>) {
    const { kysely, home } = this.#options;
    await mkdir(home.incoming, { recursive: true, mode: 0o700 });
    const name = randomUUID();
    const stagingPath = join(home.incoming, name);
    this.#running.add(name);
    try {
      const mostBytes = Math.min(this.#maxBytes, contentLength ?? this.#maxBytes);
      const written = await writeToStaging(stagingPath, body, mostBytes);
      checkLength(written.size, contentLength);
      return await kysely.transaction().execute(async (trx) => {
        const stored = await moveIntoObjects(trx, home, { stagingPath, objectPath, ...written });
        await recordAudit(trx, caller, {});
        return stored;
      });
    } finally {
      this.#running.delete(name);
      await rm(stagingPath, { force: true });
    }
  }
}

type Grant = Awaited<ReturnType<typeof findGrant>>;

/**
 * What a token permits, with the key that requested it as the caller of the upload, and whether an upload exists.
 * @throws HttpProblem 403
 */
async function findGrant(kysely: Kysely<Schema>, token: string, from: Origin) {
  const row = await kysely
    .selectFrom('uploads')
    .innerJoin('deployments', 'deployments.id', 'uploads.deployment_id')
    .select(['deployments.id', 'deployments.tenant_id', 'uploads.created_at', 'uploads.uploaded_at'])
    .select(['object_path', 'content_length', 'key_id', 'key_name'])
    .where('token_hash', '=', hashOfKey(token))
    .executeTakeFirst();
  if (row === undefined) throw new HttpProblem(403, 'The upload URL is not valid.');
  if (Date.now() >= row.created_at.getTime() + UPLOAD_URL_MS)
    throw new HttpProblem(403, 'The upload URL has expired; ask for a new one.');
  const { object_path: objectPath, content_length: length } = row;
  const caller: Caller = {
    tenantId: row.tenant_id,
    keyId: row.key_id,
    keyName: row.key_name,
    scope: 'deploy',
    from,
  };
  const resources = { deployment_id: row.id, object_path: objectPath };
  announceChange(caller, { operation: 'putUpload', resources, changed: [] });
  const contentLength = length === null ? null : Number(length);
  return { objectPath, contentLength, isUsed: row.uploaded_at !== null, caller };
}

function checkLength(size: number | undefined, contentLength: number | null): void {
  if (contentLength === null || size === undefined || size === contentLength) return;
  throw new HttpProblem(400, `The upload URL is for ${contentLength} bytes, and ${size} came.`);
}

function alreadyUsed(): HttpProblem {
  return new HttpProblem(409, 'The upload URL has been used; ask for a new one.');
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(413, `The upload is larger than ${maxBytes} bytes.`);
}

async function writeToStaging(
  path: string,
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ size: number; sha256: string }> {
  const file = await open(path, 'wx', 0o600);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      hash.update(chunk);
      // Unlike `write`, it continues until the whole chunk is written.
      await file.appendFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (size === 0) throw new HttpProblem(400, 'The upload is empty.');
  return { size, sha256: hash.digest('hex') };
}

async function moveIntoObjects(
  trx: Transaction<Schema>,
  home: HomeLayout,
  upload: { stagingPath: string; objectPath: string; size: number; sha256: string },
) {
  const { stagingPath, objectPath, size, sha256 } = upload;
  const row = await trx
    .selectFrom('uploads')
    .selectAll()
    .where('object_path', '=', objectPath)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new HttpProblem(404, 'The object path is not known any more.');
  if (row.uploaded_at !== null) throw alreadyUsed();
  const path = home.object(objectPath);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rename(stagingPath, path);
  await trx
    .updateTable('uploads')
    .set({ uploaded_at: new Date(), size, sha256 })
    .where('object_path', '=', objectPath)
    .execute();
  return { object_path: objectPath, size, sha256 };
}
