import { inFile } from './row.ts';

const answered = inFile('contract/test/controlPlane/deployment.test.ts');
const patched = inFile('contract/test/controlPlane/deploymentPatch.test.ts');
const resources = inFile('contract/test/controlPlane/resources.test.ts');
const routes = inFile('platform/test/controlPlane/routes/routes.test.ts');
const fields = inFile('platform/test/controlPlane/routes/deploymentFields.test.ts');
const revisions = inFile('platform/test/controlPlane/revisionWork.test.ts');

/** The tests that hold more than one row of contract 000. */
export const HAS_SOURCES = answered('has these sources');
export const HAS_STATUSES = answered('has these statuses');
export const ANSWER_HAS = answered('must have %s');
export const ANSWER_MAY_BE_NULL = answered('may have null as %s');
export const REQUIRED = answered('requires %s');
export const READ_ONLY = answered('ignores read-only and unknown fields');
export const CREATED_BY_SOURCE = answered('for source %s has, or has not, %s');
export const PATCHED_BY_SOURCE = patched('of source %s has, or has not, %s');
export const TAGS_AT_CREATION = answered('with ref %s and build_on_push %s is right: %s');
export const TAGS_IN_PATCH = patched('from %s, %s by %s, %s keeps the rule for tags: %s');
export const IMMUTABLE = patched('may not change %s');
export const CREATING = patched('are %s = %j');
export const NULL_CREATES_NOTHING = patched('are not %s as null');
export const SOURCE_FIELD = resources('%s is nullable, optional, and may be %j but not %j');
export const REVISION_FIELD = resources('%s is nullable, optional, and may be %j');

export const CREATED = routes('answers 201 with the deployment, its first revision, and its stable address');
export const TRACING_PROJECT = routes(
  'makes a tracing project of that name, and answers 409 where one exists, also for two at once',
);
export const REFUSED = routes('refuses what the contract refuses, at its place, and stores nothing of it');
export const IMMUTABLE_ON_SERVER = routes(
  'refuses a change of what is immutable, and takes back what was read',
);
export const OWN_OBJECT_PATH = routes(
  'takes only an object path from its own upload-url, with something uploaded to it',
);
export const UPLOAD_URL = routes('is answered under both paths');
export const ASKS_FOR_KEY = routes('%s asks for the API key');
export const NOT_FOUND = routes('%s answers 404 with what was not found');
export const NO_UUID = routes('%s answers 422 for an id that is no uuid');
export const NO_OTHER_REVISIONS = routes(
  'makes a revision for each of the revision-creating fields, and for no other',
);

export const KEPT = fields('of source %s is answered with every field that it was created with');
export const OWN_WORD = fields('takes nothing that is read-only, from a creation or a PATCH');
export const NEW_REVISION = fields(
  'has a new revision after a PATCH of %s, and the one before describes itself as ever',
);

export const WHOLE_WAY = revisions(
  'goes through every status to DEPLOYED, and becomes the active one with the switch',
);
export const REDEPLOYED = revisions(
  'brings the same revision back with the secrets it was created with, without building it',
);
export const LISTENER_REGISTERED = inFile('platform/test/controlPlane/listeners.test.ts')(
  'is registered, read, changed and removed',
);
export const LISTENER_FITS = inFile('platform/test/controlPlane/listeners.test.ts')(
  'must ask for what the listener’s compute type has',
);
export const INTEGRATION_LISTED = inFile('platform/test/controlPlane/integrations.test.ts')(
  'is registered, listed newest first with references and no secrets, and removed',
);
export const ENDPOINT = inFile('contract/test/endpoints.test.ts')(
  'has %s %s of the contracts, with its fields',
);
export const ERROR_SHAPE = inFile('contract/test/httpErrors.test.ts')('are %s');
