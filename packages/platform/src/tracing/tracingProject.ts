import { randomUUID } from 'node:crypto';

import type { Kysely } from 'kysely';

import { PlatformError } from '../errors.ts';
import type { TracingProjectsTable } from '../store/schema.ts';

/** A tracing project of that name exists: the deployment cannot have its own (contract 000; answered with 409). */
export class TracingProjectExists extends PlatformError {
  readonly projectName: string;

  constructor(projectName: string, cause: unknown) {
    super('SLIPWAY_CONFLICT', `A tracing project named ${projectName} exists already.`, {
      hint: 'Give the deployment another name.',
      cause,
    });
    this.name = 'TracingProjectExists';
    this.projectName = projectName;
  }
}

/**
 * Creates the tracing project of a deployment, which takes the deployment's name (contract 000, "What the service
 * does"). Decision: its name is unique within the tenant, as the deployment's is. `db` may be a transaction, so that both come into being together. Answers the project's id.
 * @throws TracingProjectExists
 */
export async function createTracingProject<Schema extends { tracing_projects: TracingProjectsTable }>(
  db: Kysely<Schema>,
  project: { tenantId: string; name: string; deploymentId: string },
): Promise<string> {
  const id = randomUUID();
  try {
    await (db as unknown as Kysely<{ tracing_projects: TracingProjectsTable }>)
      .insertInto('tracing_projects')
      .values({
        id,
        tenant_id: project.tenantId,
        name: project.name,
        deployment_id: project.deploymentId,
        created_at: new Date(),
      })
      .execute();
  } catch (error) {
    if ((error as { code?: string }).code === '23505') throw new TracingProjectExists(project.name, error);
    throw error;
  }
  return id;
}
