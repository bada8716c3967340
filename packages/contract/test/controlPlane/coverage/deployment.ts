import { inFile, type Row, section } from './row.ts';
import * as held from './tests.ts';

const TAKEN_UPLOAD = inFile('platform/test/platform.test.ts')(
  'deploys an uploaded source, and its agent answers runs at the stable address',
);
const IMAGES = inFile('platform/test/controlPlane/images.test.ts');

/** Contract 000, "What the service does" and "Deployment" with its rules. */
export const DEPLOYMENT_ROWS: readonly Row[] = [
  ...section('What the service does', [
    ['creates, reads, updates and redeploys deployments', held.CREATED(), held.KEPT(), held.REDEPLOYED()],
    ['creating a deployment yields its first revision', held.CREATED()],
    ['creating a deployment creates a tracing project with its name', held.TRACING_PROJECT()],
    ['typical flow: create, read, poll until DEPLOYED, update', held.WHOLE_WAY(), TAKEN_UPLOAD()],
  ]),
  ...section('Deployment', [
    ['name', held.REQUIRED('name'), held.IMMUTABLE('name'), held.IMMUTABLE_ON_SERVER()],
    ['source', held.HAS_SOURCES(), held.REQUIRED('source'), held.IMMUTABLE('source'), held.KEPT()],
    ['source_config', held.REQUIRED('source_config'), held.ANSWER_HAS('source_config'), held.KEPT()],
    [
      'source_revision_config',
      held.REQUIRED('source_revision_config'),
      held.ANSWER_HAS('source_revision_config'),
      held.KEPT(),
    ],
    ['secrets', held.REQUIRED('secrets'), held.ANSWER_HAS('secrets'), held.KEPT()],
    [
      'secret_references',
      held.ANSWER_MAY_BE_NULL('secret_references'),
      held.CREATED_BY_SOURCE('secret_references'),
      held.PATCHED_BY_SOURCE('secret_references'),
      held.KEPT('secret_references'),
      IMAGES(
        'an image is deployed with a log that names what is not applied, switched from, gone back to, and leaves nothing when its deployment is deleted',
      )('secret_references'),
    ],
    ['id', held.ANSWER_HAS('id'), held.READ_ONLY('id'), held.OWN_WORD('id')],
    ['tenant_id', held.ANSWER_HAS('tenant_id'), held.READ_ONLY('tenant_id'), held.OWN_WORD('tenant_id')],
    ['created_at', held.ANSWER_HAS('created_at'), held.READ_ONLY('created_at'), held.OWN_WORD('created_at')],
    ['updated_at', held.ANSWER_HAS('updated_at'), held.READ_ONLY('updated_at'), held.OWN_WORD('updated_at')],
    ['status', held.HAS_STATUSES(), held.READ_ONLY('status'), held.OWN_WORD('status')],
    [
      'latest_revision_id',
      held.ANSWER_HAS('latest_revision_id'),
      held.ANSWER_MAY_BE_NULL('latest_revision_id'),
      held.READ_ONLY('latest_revision_id'),
      held.OWN_WORD('latest_revision_id'),
    ],
    [
      'active_revision_id',
      held.ANSWER_HAS('active_revision_id'),
      held.ANSWER_MAY_BE_NULL('active_revision_id'),
      held.READ_ONLY('active_revision_id'),
      held.OWN_WORD('active_revision_id'),
      held.WHOLE_WAY(),
    ],
    [
      'image_version',
      held.ANSWER_MAY_BE_NULL('image_version'),
      inFile('contract/test/controlPlane/deployment.test.ts')(
        'takes image_version, which is not read-only',
      )(),
      held.KEPT('image_version'),
    ],
  ]),
  ...section('Deployment: rules', [
    [
      '1: repo_host and external_image, which a self-hosted platform has both',
      held.KEPT('repo_host'),
      inFile('platform/test/controlPlane/sources/repoHost.test.ts')(
        'is built from %s, and says from which commit',
      )('a branch'),
      IMAGES(
        'an image is deployed with a log that names what is not applied, switched from, gone back to, and leaves nothing when its deployment is deleted',
      )(),
    ],
    [
      '2: internal_source is built from an uploaded tarball; internal_image is not shown',
      TAKEN_UPLOAD(),
      held.OWN_OBJECT_PATH(),
      held.KEPT('internal_image'),
    ],
    [
      '3: source_revision_config is of the latest revision in a Deployment, of itself in a Revision',
      held.NEW_REVISION(),
    ],
    [
      '4: the tracing project takes the name of the deployment, which is immutable',
      held.TRACING_PROJECT(),
      held.IMMUTABLE_ON_SERVER(),
    ],
  ]),
];
