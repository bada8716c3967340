import type { Migration } from '../migrate.ts';

/**
 * Names are unique per tenant, of deployments and of tracing projects, and lists go by tenant. A tracing project keeps
 * the id of its deployment when that is deleted: it tells whose the feedback is.
 */
export const TENANTS: Migration = {
  name: '004 names are unique per tenant',
  sql: [
    'alter table deployments drop constraint deployments_name_key',
    'create unique index deployments_name on deployments (tenant_id, name)',
    'drop index deployments_newest',
    'create index deployments_newest on deployments (tenant_id, created_at desc, id)',
    'alter table tracing_projects drop constraint tracing_projects_name_key',
    'alter table tracing_projects add column tenant_id uuid',
    'alter table tracing_projects drop constraint tracing_projects_deployment_id_fkey',
    'create index tracing_projects_of on tracing_projects (deployment_id)',
    // Those whose deployment is gone belong to the only tenant that there was.
    `update tracing_projects set tenant_id = coalesce(
      (select tenant_id from deployments where deployments.id = deployment_id),
      '51195ba7-0000-4000-8000-000000000001')`,
    'alter table tracing_projects alter column tenant_id set not null',
    'create unique index tracing_projects_name on tracing_projects (tenant_id, name)',
  ],
};
