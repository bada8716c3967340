/** An operation's examples, by its name in the tables of endpoints. */
interface OperationExamples {
  readonly request?: unknown;
  readonly response?: unknown;
}

const DEPLOYMENT_ID = '6f1a2c3d-0b1e-4c5d-8e9f-0a1b2c3d4e5f';
const REVISION_ID = '0d9c8b7a-6f5e-4d3c-8b2a-1f0e9d8c7b6a';
const AT = '2026-11-21T10:00:00.000Z';

const REVISION = {
  id: REVISION_ID,
  created_at: AT,
  updated_at: AT,
  status: 'DEPLOYED',
  status_message: null,
  source: 'internal_source',
  source_revision_config: {
    graph_config_path: 'graph.json',
    source_tarball_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz`,
  },
};

const DEPLOYMENT = {
  id: DEPLOYMENT_ID,
  tenant_id: '51195ba7-0000-4000-8000-000000000001',
  name: 'greeter',
  source: 'internal_source',
  source_config: { custom_url: `http://127.0.0.1:8123/agents/${DEPLOYMENT_ID}` },
  source_revision_config: { graph_config_path: 'graph.json' },
  secrets: [{ name: 'MODEL_KEY', value: 'a secret value' }],
  secret_references: null,
  created_at: AT,
  updated_at: AT,
  status: 'READY',
  latest_revision_id: REVISION_ID,
  active_revision_id: null,
  image_version: null,
};

/** Examples of what people ask for most. A test holds them against the schemas. */
export const EXAMPLES: Readonly<Record<string, OperationExamples | undefined>> = {
  createDeployment: {
    request: {
      name: 'greeter',
      source: 'internal_source',
      source_config: {},
      source_revision_config: { graph_config_path: 'graph.json' },
      secrets: [{ name: 'MODEL_KEY', value: 'a secret value' }],
    },
    response: DEPLOYMENT,
  },
  getDeployment: { response: DEPLOYMENT },
  patchDeployment: {
    request: { source_revision_config: { source_tarball_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz` } },
    response: DEPLOYMENT,
  },
  getRevision: { response: REVISION },
  interruptRevision: {
    response: { ...REVISION, status: 'INTERRUPTED', status_message: 'It was interrupted on request.' },
  },
  redeployRevision: { response: DEPLOYMENT },
  createUploadUrl: {
    response: {
      upload_url: 'http://127.0.0.1:8123/uploads/eyJvIjoxfQ.c2ln',
      object_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz`,
      upload_headers: { 'content-type': 'application/gzip' },
    },
  },
  getRevisionLogs: {
    response: {
      logs: [{ id: '41', stage: 'build', message: 'added 12 packages', timestamp: AT }],
      next_offset: null,
    },
  },
  createRun: { request: { assistant_id: 'greeter', input: { name: 'Ada' } } },
};
