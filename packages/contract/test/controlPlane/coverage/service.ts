import { inFile, type Row, section } from './row.ts';
import * as held from './tests.ts';

const resources = inFile('contract/test/controlPlane/resources.test.ts');
const states = inFile('platform/test/controlPlane/revisionStates.test.ts');
const redeploy = inFile('platform/test/controlPlane/revisionWork.test.ts');
const access = inFile('platform/test/access/access.test.ts');
const BOUNDED = inFile('contract/test/controlPlane/resourceSpec.test.ts')('%s is from %d to %d');
const SIX = 'contract/test/controlPlane/deploymentPatch.test.ts';
const NEVER_BUILT = redeploy('of a revision that was never built is a 400');
const OWN_REVISION = redeploy('of a revision that its deployment does not have is a 404');
const WAYS_IN = inFile('platform/test/controlPlane/routes/routes.test.ts')(
  'redeployRevision takes each of the three ways to say who asks',
);
const THREE_SCHEMES = inFile('platform/test/openapi/document.test.ts')(
  'declares the three security alternatives of the contract',
);

/** Contract 000: "Other resources" and everything from "States and transitions" on. */
export const SERVICE_ROWS: readonly Row[] = [
  ...section('Other resources', [
    [
      'Revision: a status that can be DEPLOYED, and its SourceRevisionConfig',
      resources('has DEPLOYED, and the statuses of the public relative')('DEPLOYED'),
      resources('needs no more than an id and a status, which may be a new word')(),
      held.CREATED(),
    ],
    [
      'Listener: an identifier and a compute type',
      resources('has an identifier and a compute type')(),
      held.LISTENER_REGISTERED(),
    ],
  ]),
  ...section('Deployment status', [
    ['AWAITING_DATABASE', held.HAS_STATUSES('AWAITING_DATABASE')],
    ['READY', held.HAS_STATUSES('READY'), held.CREATED('READY')],
    ['UNUSED', held.HAS_STATUSES('UNUSED')],
    [
      'AWAITING_DELETE',
      held.HAS_STATUSES('AWAITING_DELETE'),
      inFile('platform/test/controlPlane/deletion.test.ts')(
        'is AWAITING_DELETE until its agent is drained, and gone then with its files',
      )(),
    ],
    ['UNKNOWN', held.HAS_STATUSES('UNKNOWN')],
  ]),
  ...section('Revision status', [
    ['DEPLOYED', states('lead from CREATING to DEPLOYED')(), held.WHOLE_WAY()],
    [
      'other values and transitions: not shown',
      states('fail at the stage that failed')(),
      states('are each waiting, in progress, or settled, and nothing else')(),
      states('can always be reached, and from every one that is not settled a settled one can be reached')(),
    ],
  ]),
  ...section('Revision-creating updates', [
    ...[
      'source_revision_config.repo_ref',
      'source_revision_config.graph_config_path',
      'source_revision_config.image_uri',
      'source_revision_config.source_tarball_path',
      'secrets',
      'source_config.resource_spec',
    ].map(
      (path) =>
        [path, held.CREATING(path), held.NULL_CREATES_NOTHING(path), held.NEW_REVISION(path)] as const,
    ),
    [
      'and no other',
      inFile(SIX)('are exactly these')(),
      inFile(SIX)('are not %s')(),
      held.NO_OTHER_REVISIONS(),
    ],
  ]),
  ...section('Endpoints', [
    ['POST /v2/deployments', held.ENDPOINT('/v2/deployments'), held.CREATED(), held.REFUSED()],
    [
      'GET /v2/deployments/{deployment_id}',
      held.ENDPOINT('/v2/deployments/{deployment_id}'),
      held.KEPT(),
      held.NOT_FOUND(),
      held.NO_UUID(),
    ],
    [
      'PATCH /v2/deployments/{deployment_id}',
      held.ENDPOINT('/v2/deployments/{deployment_id}'),
      held.NEW_REVISION(),
      held.IMMUTABLE_ON_SERVER(),
      held.NOT_FOUND(),
    ],
    [
      'GET /v2/deployments/{deployment_id}/revisions/{revision_id}',
      held.ENDPOINT('/v2/deployments/{deployment_id}/revisions/{revision_id}'),
      held.CREATED(),
      held.WHOLE_WAY(),
    ],
    [
      'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
      held.ENDPOINT('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy'),
      held.REDEPLOYED(),
    ],
    [
      'GET /v1/integrations/github/install',
      held.ENDPOINT('/v1/integrations/github/install'),
      held.INTEGRATION_LISTED(),
      held.KEPT('integration_id'),
    ],
    [
      'GET /v2/listeners',
      held.ENDPOINT('/v2/listeners'),
      inFile('platform/test/controlPlane/listeners.test.ts')(
        'is listed with the others, newest first, in pages',
      )(),
      held.KEPT('listener_id'),
    ],
    [
      'POST /deployments/{deployment_id}/upload-url',
      held.ENDPOINT('/deployments/{deployment_id}/upload-url'),
      held.UPLOAD_URL(),
      held.OWN_OBJECT_PATH(),
    ],
  ]),
  ...section('Redeploy details', [
    ['redeploys that revision of that deployment', held.REDEPLOYED(), OWN_REVISION()],
    ['200 (Deployment)', held.REDEPLOYED()],
    ['400', NEVER_BUILT()],
    ['404', held.NOT_FOUND(), OWN_REVISION()],
    ['422', held.NO_UUID()],
    [
      'these four, and no other',
      inFile('contract/test/endpoints.test.ts')('has the answers of redeploy that the contract names')(),
    ],
  ]),
  ...section('Authentication', [
    ['1: an API key in the header X-Api-Key', held.ASKS_FOR_KEY('x-api-key')],
    ['2: API Key, Tenant ID and Bearer Auth on redeploy', THREE_SCHEMES(), WAYS_IN()],
    [
      '3: the tenant identifier and the bearer credential: not shown',
      access('shows a key in X-Api-Key or as a bearer token, and the former goes first')(),
      access('with the platform’s own key chooses the tenant')(),
    ],
  ]),
  ...section('Errors', [
    ['400', held.ERROR_SHAPE('400 and 404: a string detail'), NEVER_BUILT()],
    ['404', held.ERROR_SHAPE('400 and 404: a string detail'), held.NOT_FOUND()],
    ['422', held.ERROR_SHAPE('422: a list of loc, msg, type'), held.NO_UUID(), held.REFUSED()],
  ]),
  ...section('Limits', [
    ['cpu, queue_cpu, cache_cpu', BOUNDED('cpu'), BOUNDED('queue_cpu'), BOUNDED('cache_cpu')],
    [
      'cpu_limit, queue_cpu_limit, cache_cpu_limit',
      BOUNDED('cpu_limit'),
      BOUNDED('queue_cpu_limit'),
      BOUNDED('cache_cpu_limit'),
    ],
    [
      'CPU values are rounded to 1 decimal place',
      inFile('contract/test/controlPlane/resourceSpec.test.ts')('%s is rounded to one decimal place')(),
    ],
    [
      'rate limits, bounds of scale and memory, payload sizes: not shown',
      inFile('contract/test/controlPlane/resourceSpec.test.ts')('%s is an integer')(),
      inFile('platform/test/access/scopes.test.ts')('that sends too much is told when to come back')(),
      inFile('platform/test/controlPlane/routes/routes.test.ts')(
        'refuses a body of more than 1 MB with 413',
      )(),
    ],
  ]),
  ...section('Versioning', [
    ['deployments are under v2', held.ENDPOINT('/v2/deployments')],
    ['the integration endpoint is under v1', held.ENDPOINT('/v1/integrations/github/install')],
    [
      'the interface description carries version 0.1.0',
      inFile('platform/test/openapi/document.test.ts')('%s is the document, without a key')('0.1.0'),
    ],
    [
      'the upload-url path has no version',
      held.ENDPOINT('/deployments/{deployment_id}/upload-url'),
      held.UPLOAD_URL(),
    ],
  ]),
];
