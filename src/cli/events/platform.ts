import {
  ApiKey,
  AuditEntry,
  CreatedApiKey,
  IntegrationInstall,
  Listener,
} from '../../clients/operatorAnswers.ts';
import { Count, event, maybe } from './fields.ts';

export const Integration = event('integration', '`add`, `list`: one each', {
  ...IntegrationInstall.shape,
  id: IntegrationInstall.shape.id.describe('The `integration_id` of a deployment'),
  credential: IntegrationInstall.shape.credential.describe('Where it is, never what it is'),
  webhook_secret: IntegrationInstall.shape.webhook_secret.describe('Where it is, never what it is'),
});

export const IntegrationRemoved = event('removed', '`platform integrations remove`', {
  id: IntegrationInstall.shape.id,
  name: IntegrationInstall.shape.name,
});

export const ListenerShown = event('listener', '`add`, `list`: one each, the newest first', {
  ...Listener.shape,
  id: Listener.shape.id.describe('The `listener_id` of a deployment'),
  compute_type: Listener.shape.compute_type.describe('`cluster`, `docker`; others may come'),
});

export const ListenerRemoved = event('removed', '`platform listeners remove`', {
  id: Listener.shape.id,
  compute_id: Listener.shape.compute_id,
});

export const Key = event('key', '`create`: the new one; `list`: one each', {
  ...ApiKey.shape,
  prefix: ApiKey.shape.prefix.describe('How the key begins: enough to know it by, not to use it'),
  created_by: ApiKey.shape.created_by.describe(
    'The id of the key that made it; `operator`: the platform’s own',
  ),
  last_used_at: ApiKey.shape.last_used_at.describe('Up to a minute behind'),
  key: maybe(CreatedApiKey.shape.key).describe('`create` alone, this once: keep it out of logs'),
});

export const KeyRevoked = event('key_revoked', '`revoke`', { id: ApiKey.shape.id });

export const SecretsRotated = event('secrets_rotated', '`platform secrets rotate`', {
  resealed: Count.describe('How many lists of secrets were encrypted anew'),
});

export const Change = event('change', '`platform audit`: one each, the newest first', {
  ...AuditEntry.shape,
  key_id: AuditEntry.shape.key_id.describe('The id of an API key; `operator`, or `platform` by itself'),
  resources: AuditEntry.shape.resources.describe('The ids of what it was about, by name'),
  changed: AuditEntry.shape.changed.describe('The names of the fields that were set, never their values'),
  status: AuditEntry.shape.status.describe(
    'What was answered; `null`: it was recorded with the change itself',
  ),
});
